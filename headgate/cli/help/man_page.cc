#include "headgate/cli/help/man_page.h"

#include <string_view>

#include "headgate/base/ascii.h"

namespace headgate::cli {
namespace {

// Text without the meanings that roff gives to backslashes, dashes and the beginnings of lines.
std::string escaped(std::string_view text) {
  std::string out;
  if (text.starts_with('.') || text.starts_with('\'')) out += "\\&";
  for (const char c : text) {
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string bold(std::string_view text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + escaped(text) + "\\fR"; }

// "headgate-check" or "HEADGATE-CHECK".
std::string title(std::string_view command) {
  return command.empty() ? "headgate" : "headgate-" + std::string(command);
}

std::string head(std::string_view command, const std::string& about, const std::string& version) {
  std::string upper_title = title(command);
  for (char& c : upper_title) c = upper(c);
  std::string text = about;
  if (text.ends_with('.')) text.pop_back();
  return ".TH " + escaped(upper_title) + " 1 \"\" \"headgate " + version +
         "\" headgate\n.SH NAME\n" + escaped(title(command)) + " \\- " + escaped(text) + '\n';
}

std::string sentence(std::string_view text) {
  return escaped(text) + (text.ends_with('.') || text.empty() ? "" : ".") + '\n';
}

std::string option_head(const OptionText& option) {
  std::string out;
  for (const std::string& name : option.names) out += (out.empty() ? "" : ", ") + bold(name);
  if (option.positional()) return italic(option.value);
  if (!option.value.empty()) out += ' ' + italic(option.value);
  return out;
}

std::string synopsis(const CommandText& command) {
  std::string out = ".SH SYNOPSIS\n" + bold("headgate " + command.name);
  for (const OptionText& option : command.options) {
    const std::string more = option.repeated ? " ..." : "";
    if (option.positional()) {
      const std::string name = italic(option.value) + more;
      out += option.required ? ' ' + name : " [" + name + ']';
    } else if (option.required) {
      out += ' ' + bold(option.names.front()) + ' ' + italic(option.value) + more;
    }
  }
  return out + " [" + italic("OPTIONS") + "]\n";
}

std::string options_section(const std::vector<OptionText>& options) {
  std::string out = ".SH OPTIONS\n";
  for (const OptionText& option : options) {
    std::string about = option.about;
    if (!option.words.empty() && about.find(option.words.front()) == std::string::npos) {
      std::string words;
      for (const std::string& word : option.words) words += (words.empty() ? "" : ", ") + word;
      about += ": " + words;
    }
    if (!option.initial.empty()) about += " (default: " + option.initial + ')';
    if (option.repeated && !option.positional()) about += "; may be repeated";
    out += ".TP\n" + option_head(option) + '\n' + sentence(about);
  }
  return out;
}

// Lines that begin with two spaces are shown as they are. The exit status has a section of its own.
std::string footer_sections(const std::vector<std::string>& lines) {
  constexpr std::string_view exit_status = "Exit status: ";
  std::string notes;
  std::string status;
  bool literal = false;
  for (const std::string& line : lines) {
    if (line.starts_with(exit_status)) {
      status = ".SH EXIT STATUS\n" + escaped(line.substr(exit_status.size())) + '\n';
      continue;
    }
    if (line.starts_with("  ") != literal) notes += literal ? ".EE\n.PP\n" : ".PP\n.EX\n";
    literal = line.starts_with("  ");
    notes += escaped(line) + '\n';
  }
  if (literal) notes += ".EE\n";
  return (notes.empty() ? "" : ".SH NOTES\n" + notes) + status;
}

std::string see_also(std::string_view others) { return ".SH SEE ALSO\n" + std::string(others); }

}  // namespace

std::string man_page(const CommandText& command, const std::string& version) {
  return head(command.name, command.about, version) + synopsis(command) +
         options_section(command.options) + footer_sections(command.footer) +
         see_also(".BR headgate (1),\n.BR headgate\\-policy (5)\n");
}

std::string man_page(const std::string& about, const std::vector<CommandText>& commands,
                     const std::string& version) {
  std::string out = head("", about, version) + ".SH SYNOPSIS\n" + bold("headgate") + ' ' +
                    italic("COMMAND") + " [" + italic("OPTIONS") + "]\n.SH COMMANDS\n";
  std::string pages;
  for (const CommandText& command : commands) {
    out += ".TP\n" + bold(command.name) + '\n' + sentence(command.about);
    pages += ".BR " + escaped(title(command.name)) + " (1),\n";
  }
  return out + see_also(pages + ".BR headgate\\-policy (5),\n.BR headgate\\-nginx (7)\n");
}

}  // namespace headgate::cli
