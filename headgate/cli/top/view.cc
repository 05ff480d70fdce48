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
constexpr std::size_t number_width = 9;
constexpr std::size_t policy_max = 20;  // leaves half of 60 columns for the key

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

std::string totals(const TopReading& reading) {
  std::string text = "requests " + short_number(reading.requests_per_second) + "/s   denied " +
                     short_number(reading.denied_per_second) + "/s";
  if (reading.requests_per_second > 0) {
    std::array<char, 32> share{};
    std::snprintf(share.data(), share.size(), " (%.1f %%)",
                  100 * reading.denied_per_second / reading.requests_per_second);
    text += share.data();
  }
  if (reading.shadow_denied_per_second > 0) {
    text += "   in shadow " + short_number(reading.shadow_denied_per_second) + "/s";
  }
  return text;
}

std::string redis_state(const TopReading::Redis& redis) {
  return std::string("Redis ") + (redis.up ? "answers" : "IS AWAY") + "   decided without it " +
         short_number(redis.decisions_without_it_per_second) + "/s";
}

struct List {
  const char* title;
  const char* also;
  const char* if_empty;
  const std::vector<TopReading::Row>& rows;
};

Lines list_lines(const List& list, const Screen& screen) {
  std::size_t policy_width = 6;
  for (const TopReading::Row& row : list.rows) {
    policy_width = std::max(policy_width, std::min(row.policy.size(), policy_max));
  }
  Lines lines;
  lines.push_back(fitted(list.title, screen.width));
  const auto line = [&](const std::string& rate, const std::string& also, const std::string& policy,
                        const std::string& key) {
    lines.push_back(fitted(padded_left(rate, number_width) + padded_left(also, number_width + 1) +
                               "  " + padded(policy, policy_width) + "  " + key,
                           screen.width));
  };
  if (list.rows.empty()) lines.push_back(fitted(list.if_empty, screen.width));
  if (!list.rows.empty()) line("/s", list.also, "policy", "key");
  for (const TopReading::Row& row : list.rows) {
    if (lines.size() >= screen.height) break;
    // Show the lower bound if the bounds differ.
    const bool exact = row.at_most_per_second <= row.per_second * 1.05;
    line((exact ? "" : ">") + short_number(row.per_second), short_number(row.also), row.policy,
         row.key.empty() ? "(everyone)" : row.key);
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
  Lines lines = {fitted(totals(reading), screen.width)};
  if (reading.redis) lines.push_back(fitted(redis_state(*reading.redis), screen.width));
  lines.emplace_back();
  const List busiest{"Busiest", "units/s", "No requests lately.", reading.busiest};
  const List denied{"Most denied", "in shadow", "No client was denied lately.",
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
