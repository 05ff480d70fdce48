#include "headgate/policy/load.h"

#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "headgate/policy/fault.h"
#include "headgate/policy/map_reader.h"
#include "headgate/policy/read_policy.h"
#include "headgate/policy/read_settings.h"
#include "headgate/policy/yaml.h"

namespace headgate::policy {
namespace {

constexpr Key file_keys[] = {{"version"},       {"client-address"},     {"fields"},
                             {"partition-key"}, {"retry-after-jitter"}, {"report"},
                             {"report-when"},   {"problem-details"},    {"upstream-prefix"},
                             {"store"},         {"policies"},           {"boulder", false},
                             {"envoy", false}};

void read_version(const MapReader& file, Faults& faults) {
  const yaml::Node* node = file.require("version", "version: 1");
  if (node == nullptr) return;
  const auto text = read_text(*node, "version", "1", faults);
  if (text && *text != "1") {
    faults.add(node->at, "version " + in_quotes(*text) + " is not known; expected 1");
  }
}

// A path in a policy file is relative to the policy file.
std::string beside(const std::string& policy_file, const std::string& path) {
  if (path.empty()) return path;
  return (std::filesystem::path(policy_file).parent_path() / path).string();
}

std::shared_ptr<const PolicySet> read(std::string_view text, const std::string& name,
                                      Faults& faults) {
  const auto document = yaml::Document::parse(text, "'version: 1' and 'policies:'", faults);
  if (!document) return nullptr;
  const MapReader file(document->root(), "the file", file_keys, faults);
  read_version(file, faults);
  Settings settings = read_settings(file, faults);
  settings.table.file = beside(name, settings.table.file);
  const yaml::Node* policies = file.require("policies", "a list of policies");
  if (policies == nullptr) return nullptr;
  auto rules = read_policies(*policies, settings.client_address, faults);
  if (!faults.empty()) return nullptr;
  return std::make_shared<const PolicySet>(std::move(settings), std::move(rules));
}

// The bytes of a file, at most one more than a policy file may have; or errno.
Result<std::string, int> slurp(const std::string& path) {
  using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  const File file(std::fopen(path.c_str(), "rbe"), std::fclose);
  if (!file) return Failure<int>(errno);
  std::string text;
  char block[1 << 16];
  while (text.size() <= yaml::bytes_max) {
    errno = 0;
    const std::size_t n = std::fread(block, 1, sizeof block, file.get());
    text.append(block, n);
    if (n < sizeof block) {
      if (std::ferror(file.get()) != 0) return Failure<int>(errno != 0 ? errno : EIO);
      break;
    }
  }
  return text;
}

Failure<std::vector<Fault>> only(const std::string& file, std::string what) {
  return Failure<std::vector<Fault>>(std::vector<Fault>{{file, 0, 0, std::move(what)}});
}

}  // namespace

Loaded load_text(std::string_view yaml, const std::string& name) {
  try {
    Faults faults(name);
    auto policies = read(yaml, name, faults);
    if (policies != nullptr) return policies;
    return Failure<std::vector<Fault>>(faults.take());
  } catch (const std::exception& e) {
    return only(name, std::string("can't be read: ") + e.what());
  }
}

Loaded load_file(const std::string& path) {
  try {
    const auto text = slurp(path);
    if (text) return load_text(*text, path);
    return only(path, "can't be read: " + std::generic_category().message(text.error()) +
                          "; expected a policy file");
  } catch (const std::exception& e) {
    return only(path, std::string("can't be read: ") + e.what());
  }
}

}  // namespace headgate::policy
