#include "headgate/cli/check/check.h"

#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "headgate/cli/check/checked_file.h"
#include "headgate/cli/check/nginx_conf_reader.h"
#include "headgate/cli/check/upgrades.h"
#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"

namespace headgate::cli {
namespace {

struct CheckOptions {
  std::vector<std::string> files;  // of policies
  bool connect = false;
  bool json = false;
  bool quiet = false;
  std::string nginx;  // an nginx.conf; empty: none
};

ExitStatus check_policies(const CheckOptions& options) {
  std::vector<CheckedFile> files;
  for (const std::string& name : options.files) {
    CheckedFile& file = files.emplace_back(check_file(name));
    if (options.connect && file.policies != nullptr) check_store(file);
    if (!options.json) print_in_words(file, options.quiet);
  }
  if (options.json) std::cout << checked_json(files);
  const bool good =
      std::all_of(files.begin(), files.end(), [](const CheckedFile& file) { return file.good(); });
  return good ? done : input_fault;
}

ExitStatus check_nginx(const std::string& file, bool quiet) {
  const auto conf = read_nginx_conf(file);
  if (!conf) {
    print_error(conf.error());
    return input_fault;
  }
  const std::vector<std::string> faults = open_upgrades(*conf);
  for (const std::string& fault : faults) print_error(fault);
  if (!faults.empty()) return input_fault;
  if (!quiet) std::cout << file << ": no upgrade but WebSocket's is passed on\n";
  return done;
}

}  // namespace

std::function<int()> add_check(CLI::App& headgate) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      headgate.add_subcommand("check", "Check policy files: print their faults, or their policies");
  CLI::Option* files =
      command->add_option("file", options->files, "The policy files; - is standard input");
  files->type_name("FILE");
  command
      ->add_flag("--connect", options->connect,
                 "Also connect to Redis, if a policy file has one, and say what is missing there")
      ->needs(files);
  CLI::Option* nginx = command->add_option(
      "--nginx", options->nginx,
      "An nginx.conf, with the files that it includes: print where it passes on an upgrade to "
      "another protocol than WebSocket");
  nginx->type_name("FILE");
  CLI::Option* json =
      command->add_flag("--json", options->json, "Print what was found as one JSON object");
  json->needs(files)->excludes(nginx);
  command->add_flag("--quiet", options->quiet, "Print only faults and warnings")->excludes(json);
  command->footer(
      "Faults and warnings go to standard error, with --json to standard output. A warning is\n"
      "about a part that is well-formed, and has no effect or always denies.\n"
      "Exit status: 0 no faults, 1 faults, 2 wrong usage.");
  command->callback([options, nginx] {
    if (options->files.empty() && nginx->count() == 0) throw CLI::RequiredError("FILE or --nginx");
    if (std::count(options->files.begin(), options->files.end(), "-") > 1) {
      throw CLI::ValidationError("-", "standard input can be read only once");
    }
  });
  return [options]() -> int {
    ExitStatus status = check_policies(*options);
    if (!options->nginx.empty()) {
      status = std::max(status, check_nginx(options->nginx, options->quiet));
    }
    return status;
  };
}

}  // namespace headgate::cli
