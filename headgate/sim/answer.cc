#include "headgate/sim/answer.h"

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
    if (value) {
      append(out, *value);
    } else {
      out.append("null");
    }
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

std::string error_json(const std::string& why) {
  const nlohmann::json error = {{"error", why}};
  return error.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

Answer answer_of(const limit::Decision& decision) {
  Answer out;
  out.admitted = decision.admitted;
  out.remaining = decision.remaining;
  if (decision.reset != limit::Decision::no_reset) out.reset = decision.reset;
  if (decision.wait == limit::Decision::never) {
    out.wait.reset();
  } else {
    out.wait = decision.wait;
  }
  return out;
}

bool stricter(const Answer& a, const Answer& b) {
  if (a.admitted != b.admitted) return !a.admitted;
  if (a.wait != b.wait) return !a.wait || (b.wait && *a.wait > *b.wait);
  return a.remaining && (!b.remaining || *a.remaining < *b.remaining);
}

}  // namespace headgate::sim
