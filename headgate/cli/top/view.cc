#include "headgate/cli/top/view.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <limits>

namespace headgate::cli {
namespace {

using Lines = std::vector<std::string>;

constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();
constexpr std::size_t wide = 120;  // from this width on the lists are side by side, 60 columns each
constexpr std::size_t rate_width = 7;  // of short_number() with a mark
constexpr std::size_t also_width = 8;  // and of the column's head
// A policy's name leaves so much for keys: an opaque one, or an IPv6 address with a prefix.
constexpr std::size_t key_room = 26;
constexpr std::size_t key_end = 9;  // what distinguishes long keys: "#1f0ac9d2"

std::string padded_left(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() > width) text = text.substr(0, width - 1) + '~';
  text.resize(width, ' ');
  return text;
}

// Cuts a text that does not fit, and marks the cut with '~'.
std::string fitted(std::string text, std::size_t width) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (text.size() <= width) return text;
  return width == 0 ? "" : text.substr(0, width - 1) + '~';
}

// Cuts a key that does not fit in the middle.
std::string fitted_key(const std::string& key, std::size_t width) {
  if (key.size() <= width) return key;
  if (width < 2 * key_end) return fitted(key, width);
  return key.substr(0, width - key_end - 1) + '~' + key.substr(key.size() - key_end);
}

// Joins the parts, on as many lines as they need.
Lines wrapped(const std::vector<std::string>& parts, std::size_t width) {
  Lines lines;
  for (const std::string& part : parts) {
    constexpr std::size_t gap = 3;
    if (!lines.empty() && lines.back().size() + gap + part.size() <= width) {
      lines.back() += std::string(gap, ' ') + part;
    } else {
      lines.push_back(part);
    }
  }
  for (std::string& line : lines) line = fitted(line, width);
  return lines;
}

std::vector<std::string> totals(const TopReading& reading) {
  std::string denied = "denied " + short_number(reading.denied_per_second) + "/s";
  if (reading.requests_per_second > 0) {
    std::array<char, 32> share{};
    std::snprintf(share.data(), share.size(), " (%.1f %%)",
                  100 * reading.denied_per_second / reading.requests_per_second);
    denied += share.data();
  }
  std::vector<std::string> parts = {"requests " + short_number(reading.requests_per_second) + "/s",
                                    denied};
  if (reading.shadow_denied_per_second > 0) {
    parts.push_back("in shadow " + short_number(reading.shadow_denied_per_second) + "/s");
  }
  return parts;
}

std::vector<std::string> redis_state(const TopReading::Redis& redis) {
  return {std::string("Redis ") + (redis.up ? "answers" : "IS AWAY"),
          "decided without it " + short_number(redis.decisions_without_it_per_second) + "/s"};
}

// "", or whose rows these are.
std::string of_policies(const std::vector<std::string>& policies) {
  std::string text;
  for (const std::string& policy : policies) text += (text.empty() ? " of " : ", ") + policy;
  return text;
}

struct List {
  std::string title;
  const char* also;
  const char* if_empty;
  const std::vector<TopReading::Row>& rows;
};

std::string key_of(const TopReading::Row& row) {
  if (!row.key.empty()) return row.key;
  return row.everyone ? "(everyone)" : "(no key)";
}

// The column of policies has all the room that keys do not need.
std::size_t policy_width(const List& list, std::size_t width) {
  std::size_t name = 6;  // "policy"
  std::size_t key = 0;
  for (const TopReading::Row& row : list.rows) {
    name = std::max(name, row.policy.size());
    key = std::max(key, std::min(key_of(row).size(), key_room));
  }
  if (width == no_limit) return name;
  const std::size_t others = rate_width + also_width + 2 + 2 + key;
  return std::min(name, std::max<std::size_t>(6, width - std::min(width, others)));
}

Lines list_lines(const List& list, const Screen& screen) {
  const std::size_t names = policy_width(list, screen.width);
  const std::size_t before_key = rate_width + also_width + 2 + names + 2;
  Lines lines;
  lines.push_back(fitted(list.title, screen.width));
  const auto line = [&](const std::string& rate, const std::string& also, const std::string& policy,
                        const std::string& key) {
    const std::size_t left = screen.width - std::min(screen.width, before_key);
    lines.push_back(fitted(padded_left(rate, rate_width) + padded_left(also, also_width) + "  " +
                               padded(policy, names) + "  " + fitted_key(key, left),
                           screen.width));
  };
  if (list.rows.empty()) lines.push_back(fitted(list.if_empty, screen.width));
  if (!list.rows.empty()) line("/s", list.also, "policy", "key");
  for (const TopReading::Row& row : list.rows) {
    if (lines.size() >= screen.height) break;
    // Show the lower bound if the bounds differ.
    const bool exact = row.at_most_per_second <= row.per_second * 1.05;
    line((exact ? "" : ">") + short_number(row.per_second), short_number(row.also), row.policy,
         key_of(row));
  }
  return lines;
}

}  // namespace

std::string short_number(double value) {
  if (!std::isfinite(value)) return "?";
  std::array<char, 48> text{};
  const auto write = [&](double number, const char* unit) {
    const int places = number < 9.995 ? 2 : number < 99.95 ? 1 : 0;
    std::snprintf(text.data(), text.size(), "%.*f%s", places, number, unit);
  };
  if (value >= 1e15) {
    std::snprintf(text.data(), text.size(), "%.1e", value);
  } else if (value >= 999.5e6) {
    write(value / 1e9, "G");
  } else if (value >= 999.5e3) {
    write(value / 1e6, "M");
  } else if (value >= 9999.5) {
    write(value / 1e3, "k");
  } else if (value == 0) {
    return "0";
  } else {
    write(value, "");
  }
  return text.data();
}

Lines top_lines(const TopReading& reading, const Screen& screen) {
  Lines lines = wrapped(totals(reading), screen.width);
  if (reading.redis) {
    for (std::string& line : wrapped(redis_state(*reading.redis), screen.width)) {
      lines.push_back(std::move(line));
    }
  }
  lines.emplace_back();
  const std::string of = of_policies(reading.policies);
  const List busiest{"Busiest" + of, "units/s", "No requests lately.", reading.busiest};
  const List denied{"Most denied" + of, "shadow", "No client was denied lately.",
                    reading.most_denied};
  const std::size_t left = screen.height - std::min(screen.height, lines.size());
  if (screen.width != no_limit && screen.width >= wide) {
    const std::size_t half = (screen.width - 3) / 2;
    const Lines first = list_lines(busiest, {half, left});
    const Lines second = list_lines(denied, {half, left});
    for (std::size_t i = 0; i < std::max(first.size(), second.size()); ++i) {
      std::string line = i < first.size() ? first[i] : "";
      line.resize(half + 3, ' ');
      lines.push_back(fitted(line + (i < second.size() ? second[i] : ""), screen.width));
    }
  } else {
    const std::size_t half =
        screen.height == no_limit ? no_limit : (left - std::min<std::size_t>(left, 1)) / 2;
    for (std::string& line : list_lines(busiest, {screen.width, half})) {
      lines.push_back(std::move(line));
    }
    lines.emplace_back();
    for (std::string& line : list_lines(denied, {screen.width, half})) {
      lines.push_back(std::move(line));
    }
  }
  if (lines.size() > screen.height) lines.resize(screen.height);
  return lines;
}

Lines top_lines(const TopReading& reading) { return top_lines(reading, {no_limit, no_limit}); }

}  // namespace headgate::cli
