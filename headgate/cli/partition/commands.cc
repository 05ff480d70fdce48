#include "headgate/cli/partition/commands.h"

#include <algorithm>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/partition/reader.h"
#include "headgate/server/token_file.h"

namespace headgate::cli {
namespace {

struct Options {
  std::string url = "http://127.0.0.1:8081";
  std::string admin_token_file;
  std::string policy;
  std::string key;
  bool json = false;
};

int fail(const std::string& words) {
  print_error("headgate: " + words);
  return input_fault;
}

Result<PartitionReader, std::string> open(const Options& options) {
  if (options.admin_token_file.empty()) return PartitionReader(options.url, "");
  const auto token = server::read_token(options.admin_token_file);
  if (!token) return Failure<std::string>(token.error());
  return PartitionReader(options.url, *token);
}

void print(const PartitionReader::Answer& answer, bool json) {
  std::cout << (json ? answer.json : answer.state.words(std::time(nullptr))) << '\n';
}

int peek(const Options& options) {
  auto reader = open(options);
  if (!reader) return fail(reader.error());
  const auto answer = reader->peek(options.policy, options.key);
  if (!answer) return fail(answer.error());
  print(*answer, options.json);
  return done;
}

int reset(const Options& options) {
  auto reader = open(options);
  if (!reader) return fail(reader.error());
  const auto answer = reader->reset(options.policy, options.key);
  if (!answer) return fail(answer.error());
  print(*answer, options.json);
  return done;
}

// Which policies deny a key now, and for how long.
std::string verdict_words(const std::vector<PartitionReader::Answer>& answers, std::time_t now) {
  std::string names;
  std::uint64_t longest = 0;
  bool is_known = true;
  for (const PartitionReader::Answer& answer : answers) {
    if (!answer.state.denies()) continue;
    names += (names.empty() ? "" : ", ") + answer.state.policy;
    longest = std::max(longest, answer.state.wait.value_or(0));
    is_known = is_known && answer.state.wait.has_value();
  }
  if (names.empty()) return "No policy denies this key now.";
  return "Denied by " + names + (is_known ? ' ' + until_words(longest, now) : "") + '.';
}

int why(const Options& options) {
  auto reader = open(options);
  if (!reader) return fail(reader.error());
  const auto policies = reader->with_key_of(options.policy);
  if (!policies) return fail(policies.error());
  std::vector<PartitionReader::Answer> answers;
  for (const std::string& policy : *policies) {
    auto answer = reader->peek(policy, options.key);
    if (!answer) return fail(answer.error());
    answers.push_back(*std::move(answer));
  }
  const auto denies = [](const PartitionReader::Answer& answer) { return answer.state.denies(); };
  if (options.json) {
    const bool denied = std::any_of(answers.begin(), answers.end(), denies);
    std::cout << R"({"denied":)" << (denied ? "true" : "false") << R"(,"policies":[)";
    for (const PartitionReader::Answer& answer : answers) {
      std::cout << (&answer == answers.data() ? "" : ",") << answer.json;
    }
    std::cout << "]}\n";
    return done;
  }
  std::cout << verdict_words(answers, std::time(nullptr)) << '\n';
  std::stable_partition(answers.begin(), answers.end(), denies);
  for (const PartitionReader::Answer& answer : answers) print(answer, false);
  return done;
}

std::function<int()> add(CLI::App& headgate, const char* name, const char* about,
                         const char* footer, int (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand(name, about);
  command->add_option("POLICY", options->policy, "The policy's name")->required();
  command->add_option("KEY", options->key, "The partition key, such as 10.0.0.2")->required();
  command->add_option("--url", options->url, "The server's HTTP address, or unix:PATH")
      ->capture_default_str()
      ->type_name("URL");
  command
      ->add_option("--admin-token-file", options->admin_token_file,
                   "The server's admin token is on the first line of this file")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer(std::string(footer) +
                  "A key of several components has commas between them; that of a policy with key: "
                  "[] is ''.\n"
                  "Exit status: 0 done, 1 the server refused or could not be reached, 2 wrong "
                  "usage.");
  return [options, run] { return run(*options); };
}

}  // namespace

std::function<int()> add_peek(CLI::App& headgate) {
  return add(headgate, "peek", "Show what one partition of a running server has left",
             "Takes nothing.\n", peek);
}

std::function<int()> add_reset(CLI::App& headgate) {
  return add(headgate, "reset", "Give one partition of a running server a full quota",
             "Penalties end, too. The server needs --admin-token-file, and its log has a line.\n",
             reset);
}

std::function<int()> add_why(CLI::App& headgate) {
  return add(headgate, "why", "Say which policies deny a key, and until when",
             "POLICY is one of violated-policies in the client's problem document, or the name in "
             "its\n"
             "RateLimit field. All policies with the same key are looked at. Takes nothing.\n",
             why);
}

}  // namespace headgate::cli
