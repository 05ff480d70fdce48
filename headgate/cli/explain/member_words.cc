#include "headgate/cli/explain/member_words.h"

#include "headgate/cli/printable.h"
#include "headgate/field/ratelimit.h"

namespace headgate::cli {

std::string amount_in_words(std::uint64_t units, std::string_view unit) {
  std::string out = std::to_string(units) + ' ' + printable(unit);
  if (units == 1 && unit == field::default_unit) out.pop_back();
  return out;
}

std::string quota_in_words(std::uint64_t q, std::string_view unit, std::optional<std::uint64_t> w) {
  return amount_in_words(q, unit) + (w ? " in " + seconds_in_words(*w) : "");
}

std::string name_in_words(const field::Member& member) {
  std::string out = member.policy ? '"' + excerpt(*member.policy).text + '"' : "the limit";
  if (member.pk) out += " (partition key " + excerpt(base64(*member.pk)).text + ')';
  return out;
}

std::string left_in_words(const field::Member& member) {
  std::string out = *member.r == 0 ? "nothing" : std::to_string(*member.r);
  if (*member.r == 0) {
    if (member.q) out += " left of " + amount_in_words(*member.q, member.unit.value_or("units"));
  } else if (member.q) {
    out += " of " + amount_in_words(*member.q, member.unit.value_or("units"));
  } else if (member.unit) {
    out = amount_in_words(*member.r, *member.unit);
  }
  if (*member.r != 0 || !member.q) out += " left";
  if (!member.t) {
    return out + (*member.r == 0 ? "; not told until when" : "; not told for how long");
  }
  return out + (*member.r == 0 ? "; more in " : " for the next ") + seconds_in_words(*member.t);
}

std::string member_in_words(const field::Member& member) {
  std::string out = name_in_words(member) + ": ";
  if (!member.r) {
    if (!member.q) return out + "nothing is told";
    return out + quota_in_words(*member.q, member.unit.value_or("units"), member.w) +
           "; what is left is not told";
  }
  out += left_in_words(member);
  if (member.w) out += "; window " + seconds_in_words(*member.w);
  return out;
}

}  // namespace headgate::cli
