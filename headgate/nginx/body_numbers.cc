#include "headgate/nginx/body_numbers.h"

#include <algorithm>
#include <new>
#include <type_traits>

#include "headgate/base/ascii.h"

namespace headgate::nginx {
namespace {

// The upstream's: nginx itself has not compressed the response yet. Empty: none.
std::string_view coding_of(const ngx_http_request_t* r) noexcept {
  const ngx_table_elt_t* const encoding = r->headers_out.content_encoding;
  const std::string_view coding =
      encoding == nullptr ? std::string_view() : trimmed(view(encoding->value));
  return equal_ignoring_case(coding, "identity") ? std::string_view() : coding;
}

// Also by its old name (RFC 9110, section 8.4.1.3).
bool is_gzip(std::string_view coding) noexcept {
  return equal_ignoring_case(coding, "gzip") || equal_ignoring_case(coding, "x-gzip");
}

}  // namespace

// The pool does not call destructors.
static_assert(std::is_trivially_destructible_v<PassingNumbers>);

PassingNumbers* PassingNumbers::make(ngx_http_request_t* r, const gate::Gate& gate,
                                     std::span<const gate::Due> dues) noexcept {
  static_assert(std::is_trivially_destructible_v<Member>);
  const auto path_of = [&](const gate::Due& due) {
    return gate.policies().response_member(*due.policy);
  };
  const auto count = static_cast<std::size_t>(
      std::ranges::count_if(dues, [&](const gate::Due& due) { return !path_of(due).empty(); }));
  if (count == 0) return nullptr;
  const std::string_view coding = coding_of(r);
  Inflater* inflater = nullptr;
  if (is_gzip(coding)) {
    inflater = Inflater::make(r->pool);
    if (inflater == nullptr) return nullptr;
  } else if (!coding.empty()) {
    return nullptr;
  }
  void* const own = ngx_palloc(r->pool, sizeof(PassingNumbers));
  auto* const members = static_cast<Member*>(ngx_palloc(r->pool, count * sizeof(Member)));
  if (own == nullptr || members == nullptr) return nullptr;
  std::size_t made = 0;
  for (const gate::Due& due : dues) {
    const std::string_view path = path_of(due);
    const auto is_same = [&](const Member& member) { return member.path == path; };
    if (path.empty() || std::any_of(members, members + made, is_same)) continue;
    new (members + made++) Member{path, policy::ResponseNumber(path)};
  }
  return new (own) PassingNumbers({members, made}, inflater);
}

std::optional<std::uint64_t> PassingNumbers::number(std::string_view path) const noexcept {
  const auto found = std::ranges::find(members_, path, &Member::path);
  return found == members_.end() ? std::nullopt : found->number.number();
}

}  // namespace headgate::nginx
