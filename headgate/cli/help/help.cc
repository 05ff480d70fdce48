#include "headgate/cli/help/help.h"

#include <memory>
#include <string>

#include "headgate/cli/errors.h"
#include "headgate/cli/exit_status.h"
#include "headgate/cli/help/command_text.h"
#include "headgate/cli/help/completion.h"
#include "headgate/cli/help/man_page.h"
#include "headgate/cli/help/print.h"

namespace headgate::cli {
namespace {

struct HelpOptions {
  std::string command;
  bool man = false;
};

int run_help(CLI::App& headgate, const HelpOptions& options) {
  if (options.command.empty()) {
    return print(options.man ? man_page(headgate.get_description(), command_texts(headgate),
                                        HEADGATE_VERSION)
                             : headgate.get_formatter()->make_help(&headgate, headgate.get_name(),
                                                                   CLI::AppFormatMode::Normal));
  }
  CLI::App* command = find_command(headgate, options.command);
  if (command == nullptr) {
    print_error("headgate help: " + no_such_command(headgate, options.command));
    return wrong_usage;
  }
  return print(options.man ? man_page(command_text(*command), HEADGATE_VERSION)
                           : command->help(headgate.get_name()));
}

int run_completion(CLI::App& headgate, const std::string& shell) {
  const std::vector<CommandText> commands = command_texts(headgate);
  if (shell == "bash") return print(bash_completion(commands));
  if (shell == "zsh") return print(zsh_completion(commands));
  return print(fish_completion(commands));
}

}  // namespace

std::function<int()> add_help(CLI::App& headgate) {
  const auto options = std::make_shared<HelpOptions>();
  CLI::App* command = headgate.add_subcommand("help", "Print the help of a command");
  std::string names;
  for (const CLI::App* other : headgate.get_subcommands({})) {
    names += (names.empty() ? "" : " ") + other->get_name();
  }
  // Accepts every word, and offers the commands to completions.
  const CLI::Validator any([](std::string&) { return std::string(); }, "", names);
  command->add_option("command", options->command, "The command; without it, all are listed")
      ->type_name("COMMAND")
      ->check(any);
  command->add_flag("--man", options->man, "Print the manual page, as roff for man -l -");
  command->footer("Exit status: 0 done, 2 there is no such command.");
  return [options, &headgate] { return run_help(headgate, *options); };
}

std::function<int()> add_completion(CLI::App& headgate) {
  const auto shell = std::make_shared<std::string>();
  CLI::App* command =
      headgate.add_subcommand("completion", "Print a completion script for a shell");
  command->add_option("shell", *shell, "The shell: bash, zsh or fish")
      ->required()
      ->type_name("SHELL")
      ->check(one_of({"bash", "zsh", "fish"}));
  command->footer(
      "  bash: headgate completion bash > ~/.local/share/bash-completion/completions/headgate\n"
      "  zsh:  headgate completion zsh > a file _headgate in a folder of $fpath\n"
      "  fish: headgate completion fish > ~/.config/fish/completions/headgate.fish\n"
      "Exit status: 0 done, 2 wrong usage.");
  return [shell, &headgate] { return run_completion(headgate, *shell); };
}

}  // namespace headgate::cli
