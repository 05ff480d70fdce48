#include "headgate/cli/check/check.h"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "headgate/cli/check/nginx_conf_reader.h"
#include "headgate/cli/check/upgrades.h"
#include "headgate/cli/describe.h"
#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/policy_file.h"
#include "headgate/cli/printable.h"
#include "headgate/redis/settings_options.h"
#include "headgate/redis/trial.h"

namespace headgate::cli {
namespace {

struct CheckOptions {
  std::string file;  // of policies; empty: none
  bool connect = false;
  std::string nginx;  // an nginx.conf; empty: none
};

// Tries the store.
ExitStatus check_store(const std::string& file, const policy::Settings& settings) {
  if (!settings.redis) {
    std::cout << file << ": store: the table, which needs no connection\n";
    return done;
  }
  const auto options = redis::options_of(*settings.redis);
  if (!options) {
    print_error(file + ": store: redis: " + options.error());
    return input_fault;
  }
  std::signal(SIGPIPE, SIG_IGN);  // of a server that closes a TLS connection
  const redis::Trial trial = redis::try_redis(*options);
  for (const std::string& finding : trial.findings) std::cout << printable(finding) << '\n';
  for (const std::string& fault : trial.faults) print_error(printable(fault));
  return trial.faults.empty() ? done : input_fault;
}

ExitStatus check_policies(const std::string& file, bool connect) {
  const auto policies = load_or_complain(file);
  if (policies == nullptr) return input_fault;
  const std::string& allowed = policies->settings().allow_text;
  if (!allowed.empty()) std::cout << "allow: no policy counts " << allowed << '\n';
  for (const policy::Policy& policy : policies->policies()) std::cout << describe(policy);
  const std::size_t count = policies->policies().size();
  std::cout << file << ": " << count << (count == 1 ? " policy" : " policies") << ", no faults\n";
  return connect ? check_store(file, policies->settings()) : done;
}

ExitStatus check_nginx(const std::string& file) {
  const auto conf = read_nginx_conf(file);
  if (!conf) {
    print_error(conf.error());
    return input_fault;
  }
  const std::vector<std::string> faults = open_upgrades(*conf);
  for (const std::string& fault : faults) print_error(fault);
  if (!faults.empty()) return input_fault;
  std::cout << file << ": no upgrade but WebSocket's is passed on\n";
  return done;
}

}  // namespace

std::function<int()> add_check(CLI::App& headgate) {
  const auto options = std::make_shared<CheckOptions>();
  CLI::App* command =
      headgate.add_subcommand("check", "Check a policy file: print its faults, or its policies");
  CLI::Option* file = command->add_option("file", options->file, "The policy file");
  file->type_name("FILE");
  command
      ->add_flag("--connect", options->connect,
                 "Also connect to Redis, if the policy file has one, and say what is missing there")
      ->needs(file);
  CLI::Option* nginx = command->add_option(
      "--nginx", options->nginx,
      "An nginx.conf, with the files that it includes: print where it passes on an upgrade to "
      "another protocol than WebSocket");
  nginx->type_name("FILE");
  command->footer("Exit status: 0 no faults, 1 faults, 2 wrong usage.");
  command->callback([file, nginx] {
    if (file->count() == 0 && nginx->count() == 0) throw CLI::RequiredError("FILE or --nginx");
  });
  return [options]() -> int {
    ExitStatus status = done;
    if (!options->file.empty()) status = check_policies(options->file, options->connect);
    if (!options->nginx.empty()) status = std::max(status, check_nginx(options->nginx));
    return status;
  };
}

}  // namespace headgate::cli
