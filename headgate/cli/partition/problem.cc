#include "headgate/cli/partition/problem.h"

#include <nlohmann/json.hpp>

#include "headgate/base/regular_file.h"
#include "headgate/cli/standard_input.h"

namespace headgate::cli {
namespace {

using nlohmann::json;

// A document with 128 names of 64 bytes has about 9 KB; 64 KiB leave room for other members.
constexpr std::size_t document_max = std::size_t{64} << 10;

}  // namespace

Result<std::vector<std::string>, std::string> violated_policies(std::string_view document) {
  constexpr const char* expected =
      "is no problem document of a denial; expected JSON with a list of names in "
      "violated-policies";
  if (document.size() > document_max) return Failure<std::string>(expected);
  const json problem = json::parse(document, nullptr, false);
  if (!problem.is_object()) return Failure<std::string>(expected);
  const auto found = problem.find("violated-policies");
  if (found == problem.end() || !found->is_array() || found->empty()) {
    return Failure<std::string>(expected);
  }
  std::vector<std::string> names;
  for (const json& name : *found) {
    if (!name.is_string()) return Failure<std::string>(expected);
    names.push_back(name.get<std::string>());
  }
  return names;
}

Result<std::vector<std::string>, std::string> read_violated_policies(const std::string& file) {
  const auto fault = [&](const std::string& what) {
    return Failure<std::string>((file == "-" ? "standard input" : file) + ' ' + what);
  };
  const Result<std::string, std::string> text =
      file == "-" ? read_standard_input(document_max) : read_regular_file(file, document_max);
  if (!text) return fault(text.error());
  auto names = violated_policies(*text);
  if (!names) return fault(names.error());
  return names;
}

}  // namespace headgate::cli
