#include "headgate/policy/file/read_settings.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "headgate/policy/file/keys.h"
#include "headgate/policy/file/read_redis.h"
#include "headgate/policy/quantity.h"
#include "headgate/policy/text.h"

namespace headgate::policy {
namespace {

using yaml::Node;

ClientAddress read_client_address(const Node& node, Faults& faults) {
  const MapReader map(node, "client-address", client_address_keys, faults);
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

// Adds the fault for a word of `fields` that sends the field `shared`, as the word `other` does.
void refuse_rival(const Node& word, std::string_view other, std::string_view shared,
                  Faults& faults) {
  const std::string quoted = "fields " + in_quotes(word.text);
  faults.add(word.at, other == word.text ? quoted + " is there twice; expected it once"
                                         : quoted + " and " + in_quotes(other) + " both send " +
                                               std::string(shared) + "; expected one of them");
}

// Whether the word names a draft in which RateLimit has the form that it has now.
bool is_current_draft(std::string_view word) {
  constexpr std::string_view draft = "draft-";
  if (!word.starts_with(draft)) return false;
  word.remove_prefix(draft.size());
  return parse_integer(word.starts_with('0') ? word.substr(1) : word, 8, 99).has_value();
}

void read_fields(const Node& node, Settings& settings, Faults& faults) {
  std::vector<field::Form>& forms = settings.fields;
  forms.clear();
  std::vector<const Node*> words;  // of the forms with the same index
  const std::vector<const Node*> items = one_or_list(node);
  for (const Node* item : items) {
    if (item->kind == yaml::Kind::scalar && is_current_draft(item->text)) {
      faults.add(item->at,
                 "fields " + in_quotes(item->text) +
                     " is unknown; expected ratelimit, the form of the drafts from 08 on");
      continue;
    }
    const auto word = read_choice<FieldsWord>(*item, "fields", fields_words, faults);
    if (!word) continue;
    if (word->none) {
      if (items.size() > 1) {
        faults.add(item->at, "fields 'none' together with others; expected it alone");
      }
      continue;
    }
    const auto rival = std::find_if(forms.begin(), forms.end(), [&](field::Form other) {
      return field::shared_field(word->form, other).has_value();
    });
    if (rival == forms.end()) {
      forms.push_back(word->form);
      settings.unix_reset = settings.unix_reset || word->unix_reset;
      words.push_back(item);
    } else {
      refuse_rival(*item, words[static_cast<std::size_t>(rival - forms.begin())]->text,
                   *field::shared_field(word->form, *rival), faults);
    }
  }
}

void read_report_when(const Node& node, Settings& settings, Faults& faults) {
  constexpr std::string_view below = "below ";
  if (node.kind == yaml::Kind::scalar && node.text.starts_with(below)) {
    const auto percent = parse_percent(std::string_view(node.text).substr(below.size()), 100);
    if (percent) {
      settings.report_when = ReportWhen::below;
      settings.report_below_percent = *percent;
    } else {
      faults.add(node.at, "report-when " + in_quotes(node.text) + " " + percent.error());
    }
    return;
  }
  const auto when = read_choice<ReportWhen>(node, "report-when", report_when_words, faults);
  if (when) settings.report_when = *when;
}

void read_table(const Node& node, TableSettings& table, Faults& faults) {
  const MapReader map(node, "table", table_keys, faults);
  if (const Node* memory = map.find("memory")) {
    // 64 KiB holds some hundred clients, enough for a trial; 1 TiB is more than today's machines
    // have.
    constexpr std::uint64_t smallest = std::uint64_t{64} << 10;
    constexpr std::uint64_t largest = std::uint64_t{1024} << 30;
    const auto parse = [](std::string_view text) { return parse_size(text, smallest, largest); };
    const auto bytes =
        read_value<std::uint64_t>(*memory, "memory", "a size like 64MiB", parse, faults);
    if (bytes) table.memory = *bytes;
  }
  if (const Node* file = map.find("file")) {
    const auto path = read_path(*file, "file", "a path, or no such key for memory alone", faults);
    if (path) table.file = *path;
  }
}

void read_store(const Node& node, Settings& settings, Faults& faults) {
  if (node.kind == yaml::Kind::scalar) {
    if (node.text == store_words[0].word) return;
    faults.add(node.at, "store " + in_quotes(node.text) +
                            " is unknown; expected table, or a map with table or redis");
    return;
  }
  const MapReader map(node, "store", store_keys, faults);
  if (const Node* found = map.find("table")) read_table(*found, settings.table, faults);
  if (const Node* found = map.find("redis")) settings.redis = read_redis(*found, faults);
}

// Sets `target` to the word that a key has, if the key is present.
template <class T>
void read_into(T& target, const MapReader& file, std::string_view key,
               std::span<const Choice<T>> choices, Faults& faults) {
  const Node* node = file.find(key);
  if (node == nullptr) return;
  if (const auto value = read_choice<T>(*node, key, choices, faults)) target = *value;
}

void read_jitter(const Node& node, Settings& settings, Faults& faults) {
  const auto parse = [](std::string_view text) { return parse_percent(text, 50); };
  const auto percent = read_value<unsigned>(node, "retry-after-jitter", "0% to 50%", parse, faults);
  if (percent) settings.jitter_percent = *percent;
}

void read_cors(const Node& node, Settings& settings, Faults& faults) {
  const MapReader map(node, "cors", cors_keys, faults);
  if (map.valid() && node.children.empty()) {
    faults.add(node.at, "cors is an empty map; expected 'expose-headers', 'preflights' or both");
  }
  read_into<bool>(settings.expose_headers, map, "expose-headers", truths, faults);
  read_into<bool>(settings.count_preflights, map, "preflights", preflight_words, faults);
}

std::optional<DecisionLogSettings> read_decisions(const Node& node, Faults& faults) {
  constexpr std::string_view file_words = "a path, or - for standard output";
  const MapReader map(node, "decisions", decisions_keys, faults);
  DecisionLogSettings log;
  if (const Node* file = map.require("file", file_words)) {
    if (const auto path = read_path(*file, "file", file_words, faults)) log.file = *path;
  }
  read_into<LoggedDecisions>(log.which, map, "which", logged_words, faults);
  if (const Node* sample = map.find("sample")) {
    const auto parse = [](std::string_view text) -> Parsed<unsigned> {
      const auto percent = parse_percent(text, 100);
      if (percent && *percent == 0) {
        return Failure<std::string>("leaves nothing to log; expected 1% to 100%");
      }
      return percent;
    };
    const auto percent = read_value<unsigned>(*sample, "sample", "1% to 100%", parse, faults);
    if (percent) log.sample_percent = *percent;
  }
  read_into<LogFormat>(log.format, map, "format", log_format_words, faults);
  read_into<PartitionKey>(log.key, map, "key", partition_key_words, faults);
  return log;
}

void read_upstream_prefix(const Node& node, Settings& settings, Faults& faults) {
  const auto prefix = read_text(node, "upstream-prefix", name_words, faults);
  if (!prefix) return;
  if (is_name(*prefix)) {
    settings.upstream_prefix = *prefix;
  } else {
    faults.add(node.at, "upstream-prefix " + in_quotes(*prefix) +
                            " can't be part of a policy's name; expected " +
                            std::string(name_words));
  }
}

}  // namespace

Settings read_settings(const MapReader& file, Faults& faults) {
  Settings settings;
  if (const Node* node = file.find("client-address")) {
    settings.client_address = read_client_address(*node, faults);
  }
  if (const Node* node = file.find("fields")) read_fields(*node, settings, faults);
  read_into<PartitionKey>(settings.partition_key, file, "partition-key", partition_key_words,
                          faults);
  if (const Node* node = file.find("retry-after-jitter")) read_jitter(*node, settings, faults);
  read_into<Report>(settings.report, file, "report", report_words, faults);
  if (const Node* node = file.find("report-when")) read_report_when(*node, settings, faults);
  read_into<bool>(settings.problem_details, file, "problem-details", truths, faults);
  if (const Node* node = file.find("cors")) read_cors(*node, settings, faults);
  if (const Node* node = file.find("decisions")) {
    settings.decisions = read_decisions(*node, faults);
  }
  if (const Node* node = file.find("upstream-prefix")) {
    read_upstream_prefix(*node, settings, faults);
  }
  if (const Node* node = file.find("store")) read_store(*node, settings, faults);
  return settings;
}

}  // namespace headgate::policy
