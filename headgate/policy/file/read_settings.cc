#include "headgate/policy/file/read_settings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using yaml::Node;

ClientAddress read_client_address(const Node& node, Faults& faults) {
  constexpr Key keys[] = {{"trusted-proxies"}, {"ipv6-prefix"}};
  const MapReader map(node, "client-address", keys, faults);
  ClientAddress settings;
  if (const Node* proxies = map.find("trusted-proxies")) {
    constexpr std::string_view expected =
        "a list of addresses, address blocks like 10.0.0.0/8, or unix:";
    for (const Node* item : read_list(*proxies, "trusted-proxies", expected, faults)) {
      const auto text = read_text(*item, "trusted-proxies", expected, faults);
      if (!text) continue;
      if (*text == "unix:") {
        settings.trust_unix = true;
      } else if (const auto block = AddressBlock::parse(*text)) {
        settings.trusted_proxies.push_back(*block);
      } else {
        faults.add(item->at, "trusted-proxies " + in_quotes(*text) +
                                 " is not an address; expected one like 10.0.0.1, a block like "
                                 "10.0.0.0/8, or unix:");
      }
    }
  }
  if (const Node* prefix = map.find("ipv6-prefix")) {
    const auto parse = [](std::string_view text) { return parse_integer(text, 1, 128); };
    const auto bits =
        read_value<std::uint64_t>(*prefix, "ipv6-prefix", "an integer", parse, faults);
    if (bits) settings.ipv6_prefix = static_cast<unsigned>(*bits);
  }
  return settings;
}

void read_fields(const Node& node, Settings& settings, Faults& faults) {
  using field::Form;
  struct Word {
    Form form;
    bool none = false;
    bool unix_reset = false;
  };
  constexpr Choice<Word> choices[] = {{"ratelimit", {{Form::ratelimit}}},
                                      {"draft-07", {{Form::draft_07}}},
                                      {"draft-06", {{Form::draft_06}}},
                                      {"draft-03", {{Form::draft_03}}},
                                      {"x-ratelimit", {{Form::x_ratelimit}}},
                                      {"x-ratelimit-unix", {{Form::x_ratelimit, false, true}}},
                                      {"none", {{{}, true}}}};
  std::vector<Form>& forms = settings.fields;
  forms.clear();
  std::vector<const Node*> places;
  const std::vector<const Node*> items = one_or_list(node);
  for (const Node* item : items) {
    const auto word = read_choice<Word>(*item, "fields", choices, faults);
    if (!word) continue;
    if (word->none) {
      if (items.size() > 1) {
        faults.add(item->at, "fields 'none' beside others; expected it alone");
      }
      continue;
    }
    const auto rival = std::find_if(forms.begin(), forms.end(), [&](Form other) {
      return field::shared_field(word->form, other).has_value();
    });
    if (rival == forms.end()) {
      forms.push_back(word->form);
      settings.unix_reset = settings.unix_reset || word->unix_reset;
      places.push_back(item);
      continue;
    }
    const std::string_view rivals_word =
        places[static_cast<std::size_t>(rival - forms.begin())]->text;
    faults.add(item->at,
               rivals_word == item->text
                   ? "fields " + in_quotes(item->text) + " is there twice; expected it once"
                   : "fields " + in_quotes(item->text) + " and " + in_quotes(rivals_word) +
                         " both send " + std::string(*field::shared_field(word->form, *rival)) +
                         "; expected one of them");
  }
}

void read_report_when(const Node& node, Settings& settings, Faults& faults) {
  constexpr std::string_view below = "below ";
  if (node.kind == yaml::Kind::scalar && node.text.starts_with(below)) {
    const auto percent = parse_percent(trimmed(node.text).substr(below.size()), 100);
    if (percent) {
      settings.report_when = ReportWhen::below;
      settings.report_below_percent = *percent;
    } else {
      faults.add(node.at, "report-when " + in_quotes(node.text) + " " + percent.error());
    }
    return;
  }
  // "below N%" is offered, but never read as this bare word.
  constexpr Choice<ReportWhen> choices[] = {{"always", ReportWhen::always},
                                            {"denied", ReportWhen::denied},
                                            {"below N%", ReportWhen::below}};
  const auto when = read_choice<ReportWhen>(node, "report-when", choices, faults);
  if (when) settings.report_when = *when;
}

void read_table(const Node& node, TableSettings& table, Faults& faults) {
  constexpr Key keys[] = {{"memory"}, {"file"}};
  const MapReader map(node, "table", keys, faults);
  if (const Node* memory = map.find("memory")) {
    constexpr std::uint64_t smallest = std::uint64_t{64} << 10;
    constexpr std::uint64_t largest = std::uint64_t{1024} << 30;
    const auto parse = [](std::string_view text) { return parse_size(text, smallest, largest); };
    const auto bytes =
        read_value<std::uint64_t>(*memory, "memory", "a size like 64MiB", parse, faults);
    if (bytes) table.memory = *bytes;
  }
  if (const Node* file = map.find("file")) {
    const auto path = read_text(*file, "file", "a path", faults);
    if (path && path->empty()) {
      faults.add(file->at, "file is empty; expected a path, or no such key for memory alone");
    } else if (path) {
      table.file = *path;
    }
  }
}

TableSettings read_store(const Node& node, Faults& faults) {
  TableSettings table;
  if (node.kind == yaml::Kind::scalar) {
    constexpr Choice<bool> choices[] = {{"table", true}, {"redis", std::nullopt}};
    static_cast<void>(read_choice<bool>(node, "store", choices, faults));
    return table;
  }
  constexpr Key keys[] = {{"table"}, {"redis", false}};
  const MapReader map(node, "store", keys, faults);
  if (const Node* found = map.find("table")) read_table(*found, table, faults);
  return table;
}

template <class T>
void read_into(T& target, const MapReader& file, std::string_view key,
               std::span<const Choice<T>> choices, Faults& faults) {
  const Node* node = file.find(key);
  if (node == nullptr) return;
  if (const auto value = read_choice<T>(*node, key, choices, faults)) target = *value;
}

}  // namespace

Settings read_settings(const MapReader& file, Faults& faults) {
  constexpr Choice<PartitionKey> partition_keys[] = {{"omit", PartitionKey::omit},
                                                     {"opaque", PartitionKey::opaque},
                                                     {"plain", PartitionKey::plain}};
  constexpr Choice<Report> reports[] = {{"all", Report::all}, {"closest", Report::closest}};
  constexpr Choice<bool> truths[] = {{"true", true}, {"false", false}};

  Settings settings;
  if (const Node* node = file.find("client-address")) {
    settings.client_address = read_client_address(*node, faults);
  }
  if (const Node* node = file.find("fields")) {
    read_fields(*node, settings, faults);
  }
  read_into<PartitionKey>(settings.partition_key, file, "partition-key", partition_keys, faults);
  if (const Node* node = file.find("retry-after-jitter")) {
    const auto parse = [](std::string_view text) { return parse_percent(text, 50); };
    const auto percent =
        read_value<unsigned>(*node, "retry-after-jitter", "0% to 50%", parse, faults);
    if (percent) settings.jitter_percent = *percent;
  }
  read_into<Report>(settings.report, file, "report", reports, faults);
  if (const Node* node = file.find("report-when")) read_report_when(*node, settings, faults);
  read_into<bool>(settings.problem_details, file, "problem-details", truths, faults);
  if (const Node* node = file.find("upstream-prefix")) {
    constexpr std::string_view expected = "1 to 64 printable ASCII characters";
    const auto prefix = read_text(*node, "upstream-prefix", expected, faults);
    if (prefix && (prefix->empty() || prefix->size() > 64 || !is_printable(*prefix))) {
      faults.add(node->at, "upstream-prefix " + in_quotes(*prefix) +
                               " can't be part of a policy's name; expected " +
                               std::string(expected));
    } else if (prefix) {
      settings.upstream_prefix = *prefix;
    }
  }
  if (const Node* node = file.find("store")) settings.table = read_store(*node, faults);
  return settings;
}

}  // namespace headgate::policy
