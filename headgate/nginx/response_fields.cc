#include "headgate/nginx/response_fields.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "headgate/base/writer.h"
#include "headgate/field/merge.h"
#include "headgate/field/ratelimit.h"
#include "headgate/field/read/family.h"
#include "headgate/field/retry_after.h"
#include "headgate/nginx/conf.h"

namespace headgate::nginx {
namespace {

// A worker writes the fields of one response at a time. More than the 8 KiB that clients and
// proxies usually accept; what does not fit is left out and counted.
std::array<char, 16384> text_buffer;

ngx_str_t retry_after_key = ngx_string("Retry-After");

// Adds a field. `value` must outlive the response.
bool push_kept(ngx_http_request_t* r, const ngx_str_t& key, std::string_view value) noexcept {
  auto* field = static_cast<ngx_table_elt_t*>(ngx_list_push(&r->headers_out.headers));
  if (field == nullptr) return false;
  field->hash = 1;
  field->key = key;
  field->value = as_ngx_str(value);
  field->lowcase_key = nullptr;
  return true;
}

// Calls f(field) for each line of the response's header section that is not removed.
template <class F>
void each_field(ngx_http_request_t* r, F f) noexcept {
  for (ngx_list_part_t* part = &r->headers_out.headers.part; part != nullptr; part = part->next) {
    auto* field = static_cast<ngx_table_elt_t*>(part->elts);
    for (ngx_uint_t i = 0; i < part->nelts; ++i, ++field) {
      if (field->hash != 0) f(*field);
    }
  }
}

bool has_name(const ngx_table_elt_t& field, std::string_view name) noexcept {
  return field.key.len == name.size() &&
         ngx_strncasecmp(field.key.data, as_ngx_str(name).data, name.size()) == 0;
}

void drop(ngx_http_request_t* r, ngx_table_elt_t& field) noexcept {
  field.hash = 0;
  main_conf(r).counters->module().upstream_fields_dropped.fetch_add(1, std::memory_order_relaxed);
}

// The lines of one field that upstream sent.
struct UpstreamLines {
  // One line per policy is usual. With more lines than these, upstream's fields are left as they
  // are.
  static constexpr std::size_t lines_max = 64;

  std::array<ngx_table_elt_t*, lines_max> fields;
  std::array<std::string_view, lines_max> values;
  std::size_t count = 0;
  bool too_many = false;

  void push(ngx_table_elt_t& field) noexcept {
    if (count == lines_max) {
      too_many = true;
      return;
    }
    fields[count] = &field;
    values[count++] = view(field.value);
  }
  [[nodiscard]] std::span<const std::string_view> all() const noexcept {
    return {values.data(), count};
  }
  void drop_all(ngx_http_request_t* r) const noexcept {
    for (std::size_t i = 0; i < count; ++i) drop(r, *fields[i]);
  }
};

bool is_rate_limit_field(const ngx_table_elt_t& field) noexcept {
  return field::family_of(view(field.key)) != field::Family::other;
}

// The rate limit fields that upstream sent.
struct UpstreamFields {
  UpstreamLines ratelimit;
  UpstreamLines policy;
  field::OlderFields older;

  void push(ngx_table_elt_t& line) noexcept {
    switch (field::family_of(view(line.key))) {
      case field::Family::other:
      case field::Family::beta:
        break;
      case field::Family::ratelimit:
        ratelimit.push(line);
        break;
      case field::Family::policy:
        policy.push(line);
        break;
      case field::Family::limit_fields:
        older.limit_fields = true;
        break;
      case field::Family::x_ratelimit:
        older.x_ratelimit = true;
        break;
    }
  }
  [[nodiscard]] field::Upstream read() const noexcept {
    return ratelimit.too_many || policy.too_many
               ? field::Upstream::unread(older)
               : field::Upstream::read(ratelimit.all(), policy.all(), older);
  }
  // Removes the fields that `ours` are to replace.
  void drop_replaced(ngx_http_request_t* r, const field::Upstream& upstream,
                     const gate::Lines& ours) const noexcept {
    const auto sends = [&](std::string_view name) {
      return std::any_of(ours.begin(), ours.end(),
                         [name](const gate::Line& line) { return line.name == name; });
    };
    using field::Treatment;
    if (upstream.ratelimit() == Treatment::replace && sends(field::ratelimit_name)) {
      ratelimit.drop_all(r);
    }
    if (upstream.policy() == Treatment::replace && sends(field::policy_name)) policy.drop_all(r);
  }
};

// Adds headgate's fields and counts those left out. false: out of memory.
bool push_lines(ngx_http_request_t* r, RequestContext& context, const gate::Lines& lines) noexcept {
  for (const gate::Line& line : lines) {
    std::string_view value = line.value;
    if (!line.constant && !keep(r, value)) return false;
    if (!push_kept(r, as_ngx_str(line.name), value)) return false;
    if (context.fields++ == 0) context.own_value = as_ngx_str(value).data;
  }
  if (lines.left_out() > 0) {
    main_conf(r).counters->module().fields_left_out.fetch_add(lines.left_out(),
                                                              std::memory_order_relaxed);
  }
  return true;
}

// Adds headgate's fields beside those of upstream. false: out of memory.
bool merge_fields(ngx_http_request_t* r, RequestContext& context) noexcept {
  UpstreamFields fields;
  each_field(r, [&](ngx_table_elt_t& field) { fields.push(field); });
  const field::Upstream upstream = fields.read();
  Writer out(text_buffer);
  const gate::Lines ours =
      context.gate().field_writer().write_beside(upstream, context.verdict.items, out);
  fields.drop_replaced(r, upstream, ours);
  return push_lines(r, context, ours);
}

// Returns the value of a Retry-After line [s]; 0 if it is malformed.
std::uint64_t wait_of(const ngx_table_elt_t& field) noexcept {
  return field::parse_retry_after(view(field.value), ngx_time()).value_or(0);
}

// Keeps the longer wait: upstream's Retry-After or `seconds`. false: out of memory.
bool push_retry_after(ngx_http_request_t* r, std::uint64_t seconds) noexcept {
  bool ours = true;
  each_field(r, [&](ngx_table_elt_t& field) {
    if (has_name(field, "Retry-After") && wait_of(field) >= seconds) ours = false;
  });
  if (!ours) return true;
  each_field(r, [&](ngx_table_elt_t& field) {
    if (has_name(field, "Retry-After")) field.hash = 0;
  });
  Writer out(text_buffer);
  if (!field::write_retry_after(out, seconds)) return false;
  std::string_view text = out.text();
  return keep(r, text) && push_kept(r, retry_after_key, text);
}

}  // namespace

void remove_fields(ngx_http_request_t* r, RequestContext& context) noexcept {
  std::size_t left = 0;
  if (context.fields == 0) return;
  each_field(r, [&](ngx_table_elt_t& field) {
    if (field.value.data == context.own_value) left = context.fields;
    if (left == 0) return;
    field.hash = 0;
    --left;
  });
  context.fields = 0;
}

ngx_int_t write_fields(ngx_http_request_t* r, RequestContext& context) noexcept {
  const gate::Verdict& verdict = context.verdict;
  if (verdict.retry_after && verdict.outcome == gate::Outcome::denied && context.enforceable &&
      !push_retry_after(r, *verdict.retry_after)) {
    return NGX_ERROR;
  }
  if (verdict.items.empty()) return NGX_OK;

  bool alone = true;
  each_field(r, [&](const ngx_table_elt_t& field) {
    if (is_rate_limit_field(field)) alone = false;
  });
  if (!alone) return merge_fields(r, context) ? NGX_OK : NGX_ERROR;
  Writer out(text_buffer);
  const gate::Lines lines = context.gate().field_writer().write(verdict.items, out);
  return push_lines(r, context, lines) ? NGX_OK : NGX_ERROR;
}

void drop_stale_fields(ngx_http_request_t* r) noexcept {
  each_field(r, [&](ngx_table_elt_t& field) {
    if (is_rate_limit_field(field)) drop(r, field);
  });
}

}  // namespace headgate::nginx
