#include "headgate/cli/partition/override.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "headgate/base/utf8.h"
#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/help/command_text.h"
#include "headgate/cli/partition/empty_key.h"
#include "headgate/cli/partition/server.h"
#include "headgate/cli/partition/state.h"
#include "headgate/cli/printable.h"
#include "headgate/policy/quantity.h"

namespace headgate::cli {
namespace {

using nlohmann::json;

constexpr const char* overrides_path = "/v1/overrides";

struct Options {
  ServerOptions server;
  std::string action;
  std::vector<std::string> words;  // behind the action
  std::string window;
  std::string lasts;
  std::string reason;
};

int fail(ExitStatus status, const std::string& words) {
  print_error("headgate: " + words);
  return status;
}

// Returns "burst, key 10.0.0.2: 50 per 1m, until 2026-01-31 12:00:00 UTC (demo)" for an override as
// the server has it.
std::string words_of(const json& override, EmptyKey& empty_key) {
  const auto text = [&](const char* name) {
    return printable(override.at(name).get<std::string>());
  };
  const std::string key = text("key");
  const json& quota = override.at("quota");
  std::string out = text("policy") + ", key " +
                    (key.empty() ? empty_key.words(text("policy")) : key) + ": " +
                    (quota.is_string() ? printable(quota.get<std::string>()) : quota.dump());
  if (!override.at("window").is_null()) out += " per " + text("window");
  if (const json& until = override.at("until"); !until.is_null()) {
    const std::string end = time_words(until.get<std::uint64_t>());
    if (!end.empty()) out += ", until " + end;
  }
  if (const std::string reason = text("reason"); !reason.empty()) out += " (" + reason + ')';
  const auto fault = override.find("fault");
  if (fault != override.end() && !fault->is_null()) out += "; without effect: " + text("fault");
  return out;
}

// Prints what the server has answered. `print` gets it as JSON.
template <class Print>
int show(ServerClient& server, const Options& options, std::string_view body, const Print& print) {
  if (options.server.json) {
    std::cout << body;
    return done;
  }
  try {
    print(json::parse(body));
  } catch (const json::exception&) {
    return fail(input_fault, server.fault("not what headgate answers"));
  }
  return done;
}

std::string path_of(const Options& options) {
  return std::string(overrides_path) + '/' + path_segment(options.words[0]) + '/' +
         path_segment(options.words[1]);
}

int set(ServerClient& server, const Options& options) {
  json override;
  const std::string& quota = options.words[2];
  if (quota == "unlimited") {
    override["quota"] = quota;
  } else {
    const auto units = policy::parse_units(quota);
    if (!units) {
      return fail(wrong_usage, "override set: QUOTA \"" + printable(quota) + "\" " + units.error() +
                                   ", or unlimited");
    }
    override["quota"] = *units;
  }
  for (const auto& [name, value] : {std::pair("window", &options.window),
                                    {"for", &options.lasts},
                                    {"reason", &options.reason}}) {
    if (value->empty()) continue;
    if (!is_utf8(*value)) {
      return fail(wrong_usage, std::string("override set: --") + name + " is not UTF-8");
    }
    override[name] = *value;
  }
  const auto body = ask(server, "PUT", path_of(options), override.dump());
  if (!body) return fail(input_fault, body.error());
  return show(server, options, *body, [&](const json& made) {
    EmptyKey empty_key(server);
    std::cout << words_of(made, empty_key) << '\n';
  });
}

int remove(ServerClient& server, const Options& options) {
  const auto body = ask(server, "DELETE", path_of(options));
  if (!body) return fail(input_fault, body.error());
  return show(server, options, *body, [&](const json& was) {
    EmptyKey empty_key(server);
    std::cout << "removed: " << words_of(was, empty_key) << '\n';
  });
}

int list(ServerClient& server, const Options& options) {
  const auto body = ask(server, "GET", overrides_path);
  if (!body) return fail(input_fault, body.error());
  return show(server, options, *body, [&](const json& answer) {
    EmptyKey empty_key(server);
    const json& all = answer.at("overrides");
    if (all.empty()) std::cout << "There are no overrides.\n";
    for (const json& override : all) std::cout << words_of(override, empty_key) << '\n';
  });
}

struct Action {
  const char* name;
  const char* usage;
  std::size_t words;
  int (*run)(ServerClient&, const Options&);
};
constexpr Action actions[] = {{"set", "set POLICY KEY QUOTA", 3, set},
                              {"list", "list", 0, list},
                              {"remove", "remove POLICY KEY", 2, remove}};

int run(const Options& options) {
  for (const Action& action : actions) {
    if (options.action != action.name) continue;
    if (options.words.size() != action.words) {
      return fail(wrong_usage, std::string("expected headgate override ") + action.usage);
    }
    const bool changes =
        !options.window.empty() || !options.lasts.empty() || !options.reason.empty();
    if (changes && action.run != set) {
      return fail(wrong_usage, "--window, --for and --reason are of headgate override set");
    }
    auto server = options.server.open();
    if (!server) return fail(input_fault, server.error());
    return action.run(**server, options);
  }
  return wrong_usage;  // not reached: the option's check knows the actions
}

}  // namespace

std::function<int()> add_override(CLI::App& headgate) {
  const auto options = std::make_shared<Options>();
  CLI::App* command = headgate.add_subcommand(
      "override", "Set, list or remove other quotas of single clients of a running server");
  command->add_option("ACTION", options->action, "What to do")
      ->required()
      ->check(one_of({"set", "list", "remove"}));
  command->add_option("WORDS", options->words,
                      "set POLICY KEY QUOTA, remove POLICY KEY; QUOTA is a number or unlimited");
  const auto add = [&](const char* option, std::string& value, const char* about,
                       const char* type) {
    command->add_option(option, value, about)->type_name(type);
  };
  add("--window", options->window, "The quota's window (default: the policy's own)", "DURATION");
  add("--for", options->lasts, "End after this time (default: when it is removed)", "DURATION");
  add("--reason", options->reason, "Why, for the log and the list", "TEXT");
  options->server.add_to(*command);
  command->footer(
      "An override is in force at once and outlives restarts. The server or gateway needs "
      "--admin-token-file\n"
      "and a file that keeps overrides, nginx headgate_admin_token_file and headgate_overrides; "
      "its log has\na line. A key of several components has commas between them; that of a "
      "policy\nwith key: [] is ''.\n"
      "Exit status: 0 done, 1 the server refused or could not be reached, 2 wrong usage.");
  return [options] { return run(*options); };
}

}  // namespace headgate::cli
