#include "headgate/field/read/member_reader.h"

#include <utility>

#include "headgate/field/ratelimit.h"
#include "headgate/field/read/draft_07_reader.h"
#include "headgate/field/read/quota_list_reader.h"
#include "headgate/field/sf/chars.h"
#include "headgate/field/sf/parse.h"

namespace headgate::field {
namespace {

using sf::RawItem;
using sf::RawParameter;
using sf::Type;

// The state of one parameter while a member's parameters are read. If it is repeated, the last one
// counts, so a wrong value is a fault only if it is the last.
class ParameterState {
 public:
  void number(const RawItem& value, std::size_t offset,
              std::optional<std::uint64_t>& out) noexcept {
    const bool right = value.type == Type::integer && value.number >= 0;
    note(right, offset);
    if (right) out = static_cast<std::uint64_t>(value.number);
  }

  void item(const RawItem& value, Type type, std::size_t offset,
            std::optional<RawItem>& out) noexcept {
    const bool right = value.type == type;
    note(right, offset);
    if (right) out = value;
  }

  [[nodiscard]] bool missing() const noexcept { return !present_; }
  [[nodiscard]] bool wrong() const noexcept { return wrong_; }
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

 private:
  void note(bool right, std::size_t offset) noexcept {
    present_ = true;
    wrong_ = !right;
    offset_ = offset;
  }

  std::size_t offset_ = 0;
  bool present_ = false;
  bool wrong_ = false;
};

void copy(const RawMember& raw, Member& member) {
  member.policy = decoded(raw.name);
  member.q = raw.q;
  member.w = raw.w;
  member.r = raw.r;
  member.t = raw.t;
  if (raw.pk) member.pk = decoded(*raw.pk);
  if (!raw.q) return;
  member.unit = raw.unit ? decoded(*raw.unit) : std::string(default_unit);
  if (*member.unit == "request") member.unit = default_unit;  // the registry's spelling
}

// With a size that the compiler knows, the comparison takes no call;
// `build/release/bin/reading_bench` measures it.
template <std::size_t size>
bool is(std::string_view key, const char (&name)[size]) noexcept {
  return key.size() == size - 1 && std::char_traits<char>::compare(key.data(), name, size - 1) == 0;
}

// Reads a value that is not of the current form in the forms of older drafts. Returns no error if
// it has one of them, otherwise the error of the form that it was most likely meant to have.
sf::Error read_as_legacy(FieldKind kind, std::string_view value, const sf::Error& current) {
  constexpr sf::Error none{nullptr, 0};
  if (kind == FieldKind::ratelimit) {
    const auto read = read_draft_07(value);
    if (read) return none;
    return resembles_draft_07(value) ? read.error() : current;
  }
  const auto read = read_quota_policies(value);
  if (read) return none;
  const std::size_t first = value.find_first_not_of(' ');
  const bool number = first != std::string_view::npos && sf::is(value[first], sf::digit_char);
  return number ? read.error() : current;
}

}  // namespace

bool MemberReader::next(RawMember& member) noexcept {
  if (!ok()) return false;
  const bool more = started_ ? reader_.next_member() : reader_.first_member();
  started_ = true;
  if (!more) return false;

  constexpr const char* no_name = "expected a policy name, which is a string or a token";
  const std::size_t start = reader_.offset();
  if (reader_.at_inner_list()) return fault(no_name, start);
  member = {};
  if (!reader_.bare_item(member.name)) return false;
  if (member.name.type != Type::string && member.name.type != Type::token) {
    return fault(no_name, start);
  }
  return kind_ == FieldKind::ratelimit ? limit_parameters(member, start)
                                       : policy_parameters(member, start);
}

bool MemberReader::limit_parameters(RawMember& member, std::size_t start) noexcept {
  ParameterState r, t, pk;
  RawParameter parameter;
  while (reader_.parameter(parameter)) {
    const std::size_t at = reader_.offset_of(parameter.key);
    if (is(parameter.key, "r")) r.number(parameter.value, at, member.r);
    if (is(parameter.key, "t")) t.number(parameter.value, at, member.t);
    if (is(parameter.key, "pk")) pk.item(parameter.value, Type::bytes, at, member.pk);
  }
  if (!reader_.ok()) return false;
  if (r.missing()) return fault("expected the parameter r", start);
  if (r.wrong()) return fault("expected an integer >= 0 as r", r.offset());
  if (t.wrong()) return fault("expected an integer >= 0 as t", t.offset());
  if (pk.wrong()) return fault("expected a byte sequence as pk", pk.offset());
  return true;
}

bool MemberReader::policy_parameters(RawMember& member, std::size_t start) noexcept {
  ParameterState q, qu, w, pk;
  RawParameter parameter;
  while (reader_.parameter(parameter)) {
    const std::size_t at = reader_.offset_of(parameter.key);
    if (is(parameter.key, "q")) q.number(parameter.value, at, member.q);
    if (is(parameter.key, "w")) w.number(parameter.value, at, member.w);
    if (is(parameter.key, "qu")) qu.item(parameter.value, Type::string, at, member.unit);
    if (is(parameter.key, "pk")) pk.item(parameter.value, Type::bytes, at, member.pk);
  }
  if (!reader_.ok()) return false;
  if (q.missing()) return fault("expected the parameter q", start);
  if (q.wrong()) return fault("expected an integer >= 0 as q", q.offset());
  if (qu.wrong()) return fault("expected a string as qu", qu.offset());
  if (w.wrong()) return fault("expected an integer >= 0 as w", w.offset());
  if (pk.wrong()) return fault("expected a byte sequence as pk", pk.offset());
  if (member.w == std::uint64_t{0}) member.w.reset();
  return true;
}

bool MemberReader::fault(const char* what, std::size_t offset) noexcept {
  fault_ = {what, offset};
  return false;
}

Reading read_members(FieldKind kind, std::string_view value) {
  MemberReader reader(kind, value);
  Reading reading;
  reading.members.reserve(4);  // few servers send more limits
  for (RawMember raw; reader.next(raw);) copy(raw, reading.members.emplace_back());
  if (reader.ok()) {
    reading.shape = reading.members.empty() ? Shape::empty : Shape::current;
    return reading;
  }
  reading.members.clear();
  reading.error = read_as_legacy(kind, value, reader.error());
  reading.shape = reading.error.what == nullptr ? Shape::legacy : Shape::malformed;
  return reading;
}

Reading read_members(FieldKind kind, std::span<const std::string_view> lines) {
  return lines.size() == 1 ? read_members(kind, lines[0]) : read_members(kind, sf::joined(lines));
}

}  // namespace headgate::field
