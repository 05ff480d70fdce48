#include "headgate/sim/trace.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "headgate/policy/policy_set.h"

namespace headgate::sim {
namespace {

using Json = nlohmann::json;

constexpr std::string_view members = "t, op, policy, key, cost";

// Returns the exact value of a JSON integer. nlohmann-json passes integers beyond 64 bits as
// doubles, but with their text.
std::optional<i128> integer(std::string_view literal) {
  const bool negative = literal.starts_with('-');
  if (negative) literal.remove_prefix(1);
  if (literal.empty() || literal.size() > time_digits_max) return std::nullopt;
  i128 value = 0;
  for (const char c : literal) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return negative ? -value : value;
}

// Collects the members of one line. Each callback returns false to stop with error_ set.
class Reader final : public nlohmann::json_sax<Json> {
 public:
  Result<TraceLine, std::string> line();
  std::string& error() { return error_; }

  bool null() override { return refuse("null"); }
  bool boolean(bool value) override { return refuse(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return number(value); }
  bool number_unsigned(number_unsigned_t value) override { return number(value); }
  bool number_float(number_float_t, const string_t& literal) override {
    const std::optional<i128> value = integer(literal);
    return value ? number(*value) : refuse(literal.substr(0, 40));
  }
  bool string(string_t& value) override;
  bool binary(binary_t&) override { return refuse("binary data"); }
  bool start_object(std::size_t) override;
  bool key(string_t& name) override;
  bool end_object() override { return true; }
  bool start_array(std::size_t) override;
  bool end_array() override {
    in_list_ = false;
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    return fail("not JSON from byte " + std::to_string(position) + "; expected one object with " +
                std::string(members));
  }

 private:
  template <class T>
  struct Member {
    bool given = false;
    bool list = false;
    std::vector<T> values;

    [[nodiscard]] bool fits(std::size_t n) const { return !list || values.size() == n; }
    [[nodiscard]] const T& at(std::size_t i) const { return values[list ? i : 0]; }
  };

  bool number(i128 value);
  bool refuse(const std::string& found);
  bool fail(std::string what) {
    error_ = std::move(what);
    return false;
  }

  std::string name_;
  bool in_object_ = false;
  bool in_list_ = false;
  std::optional<i128> t_;
  std::optional<limit::Op> op_;
  bool releases_ = false;
  Member<std::string> policy_;
  Member<std::string> key_;
  Member<std::uint64_t> cost_;
  std::string error_;
};

bool Reader::start_object(std::size_t) {
  if (in_object_) return refuse("an object");
  in_object_ = true;
  return true;
}

bool Reader::key(string_t& name) {
  name_ = name;
  const auto once = [&](bool given) { return !given || fail('"' + name_ + "\" is given twice"); };
  const auto begin = [&](auto& member) {
    if (member.given) return once(true);
    member.given = true;
    return true;
  };
  if (name == "t") return once(t_.has_value());
  if (name == "op") return once(op_.has_value());
  if (name == "policy") return begin(policy_);
  if (name == "key") return begin(key_);
  if (name == "cost") return begin(cost_);
  return fail("unknown member " +
              Json(name.substr(0, 40)).dump(-1, ' ', true, Json::error_handler_t::replace) +
              "; expected " + std::string(members));
}

bool Reader::start_array(std::size_t) {
  if (!in_object_ || in_list_) return refuse("a list");
  if (name_ == "policy") {
    policy_.list = true;
  } else if (name_ == "key") {
    key_.list = true;
  } else if (name_ == "cost") {
    cost_.list = true;
  } else {
    return refuse("a list");
  }
  in_list_ = true;
  return true;
}

bool Reader::string(string_t& value) {
  if (!in_object_) return refuse("a string");
  if (name_ == "op") {
    if (value == "spend") {
      op_ = limit::Op::spend;
    } else if (value == "peek") {
      op_ = limit::Op::peek;
    } else if (value == "refund") {
      op_ = limit::Op::refund;
    } else if (value == "release") {
      op_ = limit::Op::refund;
    } else {
      return refuse("another string");
    }
    releases_ = value == "release";
    return true;
  }
  Member<std::string>* member = name_ == "policy" ? &policy_ : name_ == "key" ? &key_ : nullptr;
  if (member == nullptr) return refuse("a string");
  if (member->values.size() == policy::policies_per_request_max) return refuse("a longer list");
  member->values.push_back(std::move(value));
  return true;
}

bool Reader::number(i128 value) {
  if (in_object_ && name_ == "t") {
    t_ = value;
    return true;
  }
  constexpr i128 cost_max = std::numeric_limits<std::uint64_t>::max();
  if (!in_object_ || name_ != "cost") return refuse("a number");
  if (value < 0 || value > cost_max) return refuse("a number out of range");
  if (cost_.values.size() == policy::policies_per_request_max) return refuse("a longer list");
  cost_.values.push_back(static_cast<std::uint64_t>(value));
  return true;
}

// Fails with what the current member expects.
bool Reader::refuse(const std::string& found) {
  if (!in_object_) {
    std::string fault = "expected one object with ";
    return fail(fault.append(members).append(", found ").append(found));
  }
  const std::string most = std::to_string(policy::policies_per_request_max);
  std::string wants = "a string, or a list of at most " + most;
  if (name_ == "t") wants = "a whole number of nanoseconds since the epoch";
  if (name_ == "op") wants = "spend, peek, refund or release";
  if (name_ == "cost") {
    wants = "a whole number from 0 to 18446744073709551615, or a list of at most " + most;
  }
  return fail('"' + name_ + "\" must be " + wants + ", found " + found);
}

Result<TraceLine, std::string> Reader::line() {
  const auto failure = [](std::string what) { return Failure<std::string>(std::move(what)); };
  if (!t_) return failure("\"t\" is missing: the time in nanoseconds since the epoch");
  if (!policy_.given) return failure("\"policy\" is missing: a policy's name, or a list of names");
  const std::size_t n = policy_.values.size();
  if (n == 0) return failure("\"policy\" is an empty list; expected at least one name");
  if (!policy_.list && (key_.list || cost_.list)) {
    return failure("\"key\" and \"cost\" may be lists only where \"policy\" is one");
  }
  if (!key_.fits(n) || !cost_.fits(n)) {
    return failure("the lists differ in length; expected one key and one cost for each policy");
  }
  TraceLine line;
  line.at = {*t_};
  line.op = op_.value_or(limit::Op::spend);
  line.releases = releases_;
  line.several = policy_.list;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t otherwise = line.op == limit::Op::peek ? 0 : 1;
    line.questions.push_back({policy_.values[i], key_.given ? key_.at(i) : std::string(),
                              cost_.given ? cost_.at(i) : otherwise});
  }
  return line;
}

}  // namespace

Result<TraceLine, std::string> parse_trace_line(std::string_view text) {
  Reader reader;
  if (!Json::sax_parse(text, &reader)) return Failure<std::string>(std::move(reader.error()));
  return reader.line();
}

}  // namespace headgate::sim
