#include "headgate/field/member_reader.h"

#include <utility>

#include "headgate/field/ratelimit.h"
#include "headgate/field/sf_parse.h"

namespace headgate::field {
namespace {

using sf::RawItem;
using sf::RawParameter;
using sf::Reader;
using sf::Type;

// The last value of a parameter, and where it stands.
struct Last {
  bool present = false;
  RawItem value;
  std::size_t offset = 0;

  [[nodiscard]] bool whole_number() const noexcept {
    return value.type == Type::integer && value.number >= 0;
  }
  [[nodiscard]] std::uint64_t number() const noexcept {
    return static_cast<std::uint64_t>(value.number);
  }
};

struct Known {
  Last q, qu, w, r, t, pk;

  void note(const RawParameter& parameter, std::size_t offset) noexcept {
    Last* known = find(parameter.key);
    if (known != nullptr) *known = {true, parameter.value, offset};
  }

 private:
  Last* find(std::string_view key) noexcept {
    if (key == "r") return &r;
    if (key == "t") return &t;
    if (key == "q") return &q;
    if (key == "w") return &w;
    if (key == "pk") return &pk;
    if (key == "qu") return &qu;
    return nullptr;
  }
};

Known known_parameters(Reader& reader) noexcept {
  Known known;
  for (;;) {
    const std::size_t offset = reader.offset();
    RawParameter parameter;
    if (!reader.parameter(parameter)) return known;
    known.note(parameter, offset);
  }
}

// `limit=100, remaining=50, reset=30` of draft-07, in any order, perhaps with more.
bool is_draft_07(std::string_view value) noexcept {
  Reader reader(value);
  bool limit = false;
  bool remaining = false;
  bool reset = false;
  for (bool more = reader.first_member(); more; more = reader.next_member()) {
    std::string_view key;
    if (!reader.key(key)) break;
    bool whole_number = false;
    if (!reader.has_value()) {
      reader.skip_parameters();
    } else if (reader.at_inner_list()) {
      reader.skip_value();
    } else {
      RawItem item;
      if (!reader.bare_item(item)) break;
      whole_number = item.type == Type::integer && item.number >= 0;
      reader.skip_parameters();
    }
    if (key == "limit") limit = whole_number;
    if (key == "remaining") remaining = whole_number;
    if (key == "reset") reset = whole_number;
  }
  return reader.ok() && limit && remaining && reset;
}

// `100;w=60, 1000;w=3600` of draft-07 and before.
bool is_legacy_policy(std::string_view value) noexcept {
  Reader reader(value);
  for (bool more = reader.first_member(); more; more = reader.next_member()) {
    RawItem quota;
    if (!reader.bare_item(quota)) return false;
    const Known known = known_parameters(reader);
    if (quota.type != Type::integer || quota.number < 0) return false;
    if (!known.w.present || !known.w.whole_number()) return false;
  }
  return reader.ok();
}

Member member_of(const RawMember& raw) {
  Member member;
  member.policy = decoded(raw.name);
  member.q = raw.q;
  member.w = raw.w;
  member.r = raw.r;
  member.t = raw.t;
  if (raw.pk) member.pk = decoded(*raw.pk);
  if (raw.q) {
    member.unit = raw.unit ? decoded(*raw.unit) : std::string(default_unit);
    if (*member.unit == "request") member.unit = default_unit;  // the registry's spelling
  }
  return member;
}

}  // namespace

bool MemberReader::next(RawMember& member) noexcept {
  if (!ok()) return false;
  const bool more = started_ ? reader_.next_member() : reader_.first_member();
  started_ = true;
  if (!more) return false;

  const std::size_t start = reader_.offset();
  if (reader_.at_inner_list()) return fault("expected a policy name, which is a string", start);
  member = {};
  if (!reader_.bare_item(member.name)) return false;
  if (member.name.type != Type::string) {
    return fault("expected a policy name, which is a string", start);
  }
  const Known known = known_parameters(reader_);
  if (!reader_.ok()) return false;

  if (known.pk.present) {
    if (known.pk.value.type != Type::bytes) {
      return fault("expected a byte sequence as pk", known.pk.offset);
    }
    member.pk = known.pk.value;
  }
  if (kind_ == FieldKind::ratelimit) {
    if (!known.r.present) return fault("expected the parameter r", start);
    if (!known.r.whole_number()) return fault("expected an integer >= 0 as r", known.r.offset);
    member.r = known.r.number();
    if (!known.t.present) return true;
    if (!known.t.whole_number()) return fault("expected an integer >= 0 as t", known.t.offset);
    member.t = known.t.number();
    return true;
  }
  if (!known.q.present) return fault("expected the parameter q", start);
  if (!known.q.whole_number()) return fault("expected an integer >= 0 as q", known.q.offset);
  member.q = known.q.number();
  if (known.qu.present) {
    if (known.qu.value.type != Type::string) {
      return fault("expected a string as qu", known.qu.offset);
    }
    member.unit = known.qu.value;
  }
  if (!known.w.present) return true;
  if (!known.w.whole_number()) return fault("expected an integer >= 0 as w", known.w.offset);
  if (known.w.number() > 0) member.w = known.w.number();
  return true;
}

bool MemberReader::fault(const char* what, std::size_t offset) noexcept {
  fault_ = {what, offset};
  return false;
}

Reading read_members(FieldKind kind, std::span<const std::string_view> lines) {
  const std::string value = sf::joined(lines);
  MemberReader reader(kind, value);
  Reading reading;
  for (RawMember raw; reader.next(raw);) reading.members.push_back(member_of(raw));
  if (reader.ok()) {
    reading.shape = reading.members.empty() ? Shape::empty : Shape::current;
    return reading;
  }
  reading.members.clear();
  const bool legacy = kind == FieldKind::ratelimit ? is_draft_07(value) : is_legacy_policy(value);
  if (legacy) {
    reading.shape = Shape::legacy;
  } else {
    reading.shape = Shape::malformed;
    reading.error = reader.error();
  }
  return reading;
}

}  // namespace headgate::field
