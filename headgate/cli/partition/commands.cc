#include "headgate/cli/partition/commands.h"

#include <algorithm>
#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/partition/problem.h"
#include "headgate/cli/partition/reader.h"
#include "headgate/cli/partition/server.h"
#include "headgate/cli/printable.h"

namespace headgate::cli {
namespace {

struct Options {
  ServerOptions server;
  std::string policy;
  std::string key;
  std::string problem;  // of why: a file
};

int fail(const std::string& words) {
  print_error("headgate: " + words);
  return input_fault;
}

Result<PartitionReader, std::string> open(const Options& options) {
  auto server = options.server.open();
  if (!server) return Failure<std::string>(server.error());
  return PartitionReader(*std::move(server));
}

void print(const PartitionReader::Answer& answer, bool json) {
  std::cout << (json ? answer.json : answer.state.words(std::time(nullptr))) << '\n';
}

int peek(const Options& options) {
  auto reader = open(options);
  if (!reader) return fail(reader.error());
  const auto answer = reader->peek(options.policy, options.key);
  if (!answer) return fail(answer.error());
  print(*answer, options.server.json);
  return done;
}

int reset(const Options& options) {
  auto reader = open(options);
  if (!reader) return fail(reader.error());
  const auto answer = reader->reset(options.policy, options.key);
  if (!answer) return fail(answer.error());
  print(*answer, options.server.json);
  return done;
}

// Which policy denied a key last, and when; "" if none is remembered.
std::string last_denial_words(const std::vector<PartitionReader::Answer>& answers) {
  const PartitionState* last = nullptr;
  for (const PartitionReader::Answer& answer : answers) {
    const PartitionState& state = answer.state;
    if (!state.last_denial || !state.last_denial->enforced) continue;
    if (last == nullptr || state.last_denial->ago < last->last_denial->ago) last = &state;
  }
  if (last == nullptr) return {};
  return " Last denied by policy " + last->policy + ' ' + seconds_in_words(last->last_denial->ago) +
         " ago.";
}

// Some of the policies, and the longest time of theirs.
struct Named {
  std::string names;
  std::uint64_t longest = 0;  // [s]
  bool is_known = true;       // whether all of them have a time
};

Named named(const std::vector<PartitionReader::Answer>& answers,
            bool (PartitionState::*chosen)() const noexcept) {
  Named out;
  for (const PartitionReader::Answer& answer : answers) {
    const PartitionState& state = answer.state;
    if (!(state.*chosen)()) continue;
    out.names += (out.names.empty() ? "" : ", ") + state.policy;
    out.longest = std::max(out.longest, state.wait.value_or(0));
    out.is_known = out.is_known && state.wait.has_value();
  }
  return out;
}

// Which policies deny a key now, and for how long; or for how long a request waits.
std::string verdict_words(const std::vector<PartitionReader::Answer>& answers, std::time_t now) {
  const Named denying = named(answers, &PartitionState::denies);
  if (!denying.names.empty()) {
    return "Denied by " + denying.names +
           (denying.is_known ? ' ' + until_words(denying.longest, now) : "") + '.';
  }
  const Named delaying = named(answers, &PartitionState::delays);
  std::string out = "No policy denies this key now.";
  if (!delaying.names.empty()) {
    out += " A request waits " + seconds_in_words(delaying.longest) + " for " + delaying.names +
           ", then passes.";
  }
  return out + last_denial_words(answers);
}

// The policies that the user asks about. Errors: a sentence about the problem document.
Result<std::vector<std::string>, std::string> policies_of(const Options& options) {
  if (options.problem.empty()) return std::vector{options.policy};
  return read_violated_policies(options.problem);
}

int why(const Options& options) {
  const auto asked = policies_of(options);
  if (!asked) return fail(asked.error());
  auto reader = open(options);
  if (!reader) return fail(reader.error());
  const auto policies = reader->with_key_of(*asked);
  if (!policies) return fail(policies.error());
  std::vector<PartitionReader::Answer> answers;
  for (const std::string& policy : *policies) {
    auto answer = reader->peek(policy, options.key);
    if (!answer) return fail(answer.error());
    answers.push_back(*std::move(answer));
  }
  const auto denies = [](const PartitionReader::Answer& answer) { return answer.state.denies(); };
  if (options.server.json) {
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

constexpr const char* key_about = "The partition key, such as 10.0.0.2";

void add_rest(CLI::App& command, const std::shared_ptr<Options>& options, const char* footer) {
  options->server.add_to(command);
  command.footer(std::string(footer) +
                 "A key of several components has commas between them; that of a policy with key: "
                 "[] is ''.\n"
                 "Exit status: 0 done, 1 the server refused or could not be reached, 2 wrong "
                 "usage.");
}

std::function<int()> add(CLI::App& headgate, const char* name, const char* about,
                         const char* footer, int (*run)(const Options&)) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand(name, about);
  command->add_option("POLICY", options->policy, "The policy's name")->required();
  command->add_option("KEY", options->key, key_about)->required();
  add_rest(*command, options, footer);
  return [options, run] { return run(*options); };
}

}  // namespace

std::function<int()> add_peek(CLI::App& headgate) {
  return add(headgate, "peek", "Show what one partition of a running server has left",
             "Takes nothing.\n", peek);
}

std::function<int()> add_reset(CLI::App& headgate) {
  return add(headgate, "reset", "Give one partition of a running server a full quota",
             "Penalties end, too. The server or gateway needs --admin-token-file, nginx\n"
             "headgate_admin_token_file, and its log has a line.\n",
             reset);
}

std::function<int()> add_why(CLI::App& headgate) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      headgate.add_subcommand("why", "Say which policies deny a key, and until when");
  command->add_option("POLICY", options->policy, "The policy's name; not with --problem")
      ->required();
  const CLI::Option* key = command->add_option("KEY", options->key, key_about);
  command
      ->add_option("--problem", options->problem,
                   "The client's problem document, which names the policies; - is standard input")
      ->type_name("FILE");
  add_rest(*command, options,
           "headgate why POLICY KEY, or headgate why --problem FILE KEY. POLICY is one of "
           "violated-policies\nin the client's problem document, or the name in its RateLimit "
           "field. All policies with the same\nkey are looked at. Takes nothing.\n");
  return [options, key] {
    const bool has_key = key->count() > 0;
    if (has_key != options->problem.empty()) {
      print_error(has_key ? "headgate: --problem names the policies; expected only KEY beside it"
                          : "headgate: expected headgate why POLICY KEY");
      return static_cast<int>(wrong_usage);
    }
    if (!has_key) options->key = options->policy;  // the only word
    return why(*options);
  };
}

}  // namespace headgate::cli
