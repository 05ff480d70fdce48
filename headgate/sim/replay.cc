#include "headgate/sim/replay.h"

#include <nlohmann/json.hpp>

namespace headgate::sim {
namespace {

void append(std::string& out, Nanos value) {
  char digits[40];
  char* at = digits + sizeof digits;
  do {
    *--at = static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value > 0);
  out.append(at, digits + sizeof digits);
}

void append(std::string& out, const Answer& answer) {
  const auto put = [&](std::string_view name, std::optional<Nanos> value) {
    out.append(name);
    if (value)
      append(out, *value);
    else
      out.append("null");
  };
  out.append(answer.admitted ? R"({"admitted": true)" : R"({"admitted": false)");
  put(R"(, "r": )", answer.remaining);
  put(R"(, "reset": )", answer.reset);
  put(R"(, "wait": )",
      answer.wait ? std::optional<Nanos>(ceil_seconds(*answer.wait)) : std::optional<Nanos>());
  put(R"(, "wait_ns": )", answer.wait);
}

}  // namespace

std::string decision_json(const Answers& answers, bool several) {
  std::string out;
  append(out, answers.verdict);
  if (several) {
    out.append(R"(, "results": [)");
    for (const Answer& answer : answers.results) {
      if (&answer != &answers.results.front()) out.append(", ");
      append(out, answer);
      out.push_back('}');
    }
    out.push_back(']');
  }
  out.push_back('}');
  return out;
}

bool looks_like_trace(std::string_view line) {
  const std::size_t first = line.find_first_not_of(" \t");
  return first != std::string_view::npos && line[first] == '{';
}

Result<void, std::string> replay_trace(Lines& lines, const std::string& name, Simulator& simulator,
                                       std::ostream* decisions, const Complain& complain) {
  std::size_t complaints = 0;
  for (Line line; lines.next(line);) {
    Result<Answers, std::string> answers;
    bool several = false;
    if (line.cut) {
      answers = Failure<std::string>("longer than " + std::to_string(line_bytes_max) + " bytes");
    } else if (const auto parsed = parse_trace_line(line.text); parsed) {
      several = parsed->several;
      answers = simulator.apply(*parsed);
    } else {
      answers = Failure<std::string>(parsed.error());
    }
    if (answers) {
      if (decisions != nullptr) *decisions << decision_json(*answers, several) << '\n';
      continue;
    }
    simulator.summary().skip();
    if (decisions != nullptr) {
      const nlohmann::json error = {{"error", answers.error()}};
      *decisions << error.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) << '\n';
    }
    if (++complaints <= complaints_max) {
      complain(name + ':' + std::to_string(line.number) + ": " + answers.error());
    } else if (complaints == complaints_max + 1) {
      complain(name + ": more such lines follow; they are only counted");
    }
  }
  if (!lines.error().empty()) return Failure<std::string>(lines.error());
  return {};
}

}  // namespace headgate::sim
