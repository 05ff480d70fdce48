// Reads response bodies for policies whose cost is a member of the response's JSON. A module of its
// own, because nginx gives each module one place among the filters, and that of
// ngx_http_headgate_module is behind those that change and compress a body.

#include <algorithm>
#include <string_view>

#include "headgate/nginx/body_numbers.h"
#include "headgate/nginx/conf.h"
#include "headgate/nginx/context.h"
#include "headgate/nginx/ngx.h"

namespace {

using namespace headgate;
using namespace headgate::nginx;

extern "C" {
ngx_int_t install_reader(ngx_conf_t* cf) noexcept;
}

ngx_http_module_t http_module = {nullptr, install_reader, nullptr, nullptr,
                                 nullptr, nullptr,        nullptr, nullptr};

}  // namespace

ngx_module_t ngx_http_headgate_body_filter_module = {
    NGX_MODULE_V1, &http_module, nullptr, NGX_HTTP_MODULE, nullptr, nullptr,
    nullptr,       nullptr,      nullptr, nullptr,         nullptr, NGX_MODULE_V1_PADDING};

namespace {

ngx_http_output_header_filter_pt next_header_filter;
ngx_http_output_body_filter_pt next_body_filter;

extern "C" ngx_int_t begin_reading(ngx_http_request_t* r) noexcept {
  RequestContext* const context = r == r->main ? find_context(r) : nullptr;
  if (context == nullptr || !context->matched() || context->numbers != nullptr) {
    return next_header_filter(r);
  }
  context->numbers = PassingNumbers::make(r, context->gate(), context->verdict.dues);
  if (context->numbers != nullptr) r->filter_need_in_memory = 1;  // also what is in a file
  return next_header_filter(r);
}

extern "C" ngx_int_t read_body(ngx_http_request_t* r, ngx_chain_t* in) noexcept {
  RequestContext* const context = r == r->main ? find_context(r) : nullptr;
  if (context == nullptr || context->numbers == nullptr) return next_body_filter(r, in);
  for (const ngx_chain_t* link = in; link != nullptr; link = link->next) {
    const ngx_buf_t& buf = *link->buf;
    if (ngx_buf_in_memory(&buf)) {
      context->numbers->read(
          {reinterpret_cast<const char*>(buf.pos), static_cast<std::size_t>(buf.last - buf.pos)});
    }
    if (buf.last_buf) context->body_ended = true;
  }
  return next_body_filter(r, in);
}

extern "C" ngx_int_t install_reader(ngx_conf_t* cf) noexcept {
  const auto& conf =
      *static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_headgate_module));
  if (conf.policies == nullptr || conf.policies->fields_used().response_members.empty()) {
    return NGX_OK;
  }
  next_header_filter = ngx_http_top_header_filter;
  ngx_http_top_header_filter = begin_reading;
  next_body_filter = ngx_http_top_body_filter;
  ngx_http_top_body_filter = read_body;
  return NGX_OK;
}

}  // namespace
