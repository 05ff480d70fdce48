#include "headgate/cli/check/checked_file.h"

#include <csignal>
#include <cstddef>
#include <iostream>
#include <span>
#include <utility>

#include "headgate/base/json_text.h"
#include "headgate/cli/describe.h"
#include "headgate/cli/errors.h"
#include "headgate/cli/printable.h"
#include "headgate/cli/standard_input.h"
#include "headgate/policy/file/load.h"
#include "headgate/policy/file/yaml.h"
#include "headgate/redis/settings_options.h"
#include "headgate/redis/trial.h"

namespace headgate::cli {
namespace {

policy::Loaded load(const std::string& name) {
  if (name != "-") return policy::load_file(name);
  const auto text =
      read_standard_input(policy::yaml::bytes_max);  // load_text() refuses a longer one
  if (text) return policy::load_text(*text, name);
  return Failure<std::vector<policy::Fault>>({policy::Fault{.file = name, .what = text.error()}});
}

template <class List, class Append>
void append_list(std::string& out, const List& list, const Append& append) {
  out += '[';
  const char* before = "";
  for (const auto& element : list) {
    out += std::exchange(before, ", ");
    append(element);
  }
  out += ']';
}

void append_texts(std::string& out, const std::vector<std::string>& texts) {
  append_list(out, texts, [&](const std::string& text) { append_json(out, text); });
}

void append_faults(std::string& out, std::span<const policy::Fault> faults) {
  append_list(out, faults, [&](const policy::Fault& fault) {
    out += "{\"file\": ";
    append_json(out, fault.file);
    const auto number = [](std::size_t n) { return n == 0 ? "null" : std::to_string(n); };
    out += ", \"line\": " + number(fault.line) + ", \"column\": " + number(fault.column);
    out += ", \"what\": ";
    append_json(out, fault.what);
    out += '}';
  });
}

std::span<const policy::Fault> warnings_of(const CheckedFile& file) {
  return file.policies == nullptr ? std::span<const policy::Fault>() : file.policies->warnings();
}

void append_file(std::string& out, const CheckedFile& file) {
  out += "{\"file\": ";
  append_json(out, file.name);
  out += ", \"good\": ";
  out += file.good() ? "true" : "false";
  out += ", \"policies\": ";
  std::vector<std::string> names;
  if (file.policies != nullptr) {
    for (const policy::Policy& policy : file.policies->policies()) names.push_back(policy.name);
  }
  append_texts(out, names);
  out += ", \"faults\": ";
  append_faults(out, file.faults);
  out += ", \"warnings\": ";
  append_faults(out, warnings_of(file));
  if (file.store) {
    out += ", \"store\": {\"findings\": ";
    append_texts(out, file.store->findings);
    out += ", \"faults\": ";
    append_texts(out, file.store->faults);
    out += '}';
  }
  out += '}';
}

}  // namespace

CheckedFile check_file(const std::string& name) {
  const policy::Loaded loaded = load(name);
  CheckedFile file;
  file.name = name;
  if (loaded) {
    file.policies = *loaded;
  } else {
    file.faults = loaded.error();
  }
  return file;
}

void check_store(CheckedFile& file) {
  CheckedStore& store = file.store.emplace();
  const auto& settings = file.policies->settings().redis;
  if (!settings) {
    store.findings.push_back(file.name + ": store: the table, which needs no connection");
    return;
  }
  const auto options = redis::options_of(*settings);
  if (!options) {
    store.faults.push_back(file.name + ": store: redis: " + options.error());
    return;
  }
  std::signal(SIGPIPE, SIG_IGN);  // of a server that closes a TLS connection
  redis::Trial trial = redis::try_redis(*options);
  store.findings = std::move(trial.findings);
  store.faults = std::move(trial.faults);
}

void print_in_words(const CheckedFile& file, bool quiet) {
  for (const policy::Fault& fault : file.faults) print_error(fault.text());
  for (const policy::Fault& warning : warnings_of(file)) {
    print_warning("warning: " + warning.text());
  }
  if (file.policies != nullptr && !quiet) {
    const policy::Settings& settings = file.policies->settings();
    if (!settings.allow_text.empty()) {
      std::cout << "allow: no policy counts " << settings.allow_text << '\n';
    }
    if (settings.decisions) std::cout << describe(*settings.decisions);
    if (!settings.count_preflights) std::cout << "cors: no policy counts preflights\n";
    const auto policies = file.policies->policies();
    for (const policy::Policy& policy : policies) std::cout << describe(policy);
    std::cout << file.name << ": " << policies.size()
              << (policies.size() == 1 ? " policy" : " policies") << ", no faults\n"
              << std::flush;
  }
  if (!file.store) return;
  for (const std::string& finding : file.store->findings) {
    if (!quiet) std::cout << printable(finding) << '\n';
  }
  for (const std::string& fault : file.store->faults) print_error(printable(fault));
}

std::string checked_json(const std::vector<CheckedFile>& files) {
  std::string out = "{\"files\": ";
  append_list(out, files, [&](const CheckedFile& file) { append_file(out, file); });
  return out + "}\n";
}

}  // namespace headgate::cli
