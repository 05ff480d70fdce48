#include "headgate/nginx/dashboard.h"

#include <exception>
#include <optional>
#include <utility>

#include "headgate/metrics/exposition.h"
#include "headgate/nginx/admin.h"
#include "headgate/nginx/conf.h"
#include "headgate/nginx/metrics.h"
#include "headgate/nginx/recording.h"
#include "headgate/nginx/send.h"
#include "headgate/view/asset.h"
#include "headgate/view/page.h"
#include "headgate/view/policies_page.h"
#include "headgate/view/top_page.h"

namespace headgate::nginx {
namespace {

ngx_http_core_loc_conf_t& core_conf(ngx_http_request_t* r) noexcept {
  return *static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_get_module_loc_conf(r, ngx_http_core_module));
}

view::Page top_page(ngx_http_request_t* r, const MainConf& conf) {
  view::Recent recent;
  if (conf.worker_stats != nullptr) {
    recent = conf.worker_stats->recent(recording_time(), conf.in_force->labels());
  }
  const auto redis_up =
      conf.redis == nullptr ? std::nullopt : std::optional(conf.redis->status().up);
  return view::top_page(view(r->args), std::move(recent), conf.in_force->labels(), redis_up);
}

// The page with this name, beneath the location's prefix; std::nullopt: there is none.
std::optional<view::Page> page_of(ngx_http_request_t* r, std::string_view name) {
  const MainConf& conf = main_conf(r);
  if (name == "metrics") return view::Page{metrics::Exposition::content_type, metrics_text(conf)};
  if (name == "v1/top") return top_page(r, conf);
  if (name == "v1/policies") {
    return view::policies_page(conf.policy_file, conf.reading, conf.in_force->policies());
  }
  if (name == "healthz") return view::Page{"text/plain", "ok\n"};
  return std::nullopt;
}

// nginx answers with 304 if the client has the file.
ngx_int_t send_asset(ngx_http_request_t* r, const view::Asset& asset) noexcept {
  for (const auto& [name, value] : view::asset_fields()) {
    if (add_field(r, name, value) == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
  r->headers_out.etag = add_field(r, "ETag", asset.tag);
  if (r->headers_out.etag == nullptr) return NGX_HTTP_INTERNAL_SERVER_ERROR;
  ngx_http_complex_value_t body{};
  body.value = as_ngx_str(asset.body);
  ngx_str_t type = as_ngx_str(asset.type);
  return ngx_http_send_response(r, NGX_HTTP_OK, &type, &body);
}

extern "C" ngx_int_t dashboard_handler(ngx_http_request_t* r) noexcept {
  const std::string_view prefix = view(core_conf(r).name);
  std::string_view name = view(r->uri);
  if (main_conf(r).in_force == nullptr || !name.starts_with(prefix)) return NGX_HTTP_NOT_FOUND;
  name.remove_prefix(prefix.size());
  const bool is_read = (r->method & (NGX_HTTP_GET | NGX_HTTP_HEAD)) != 0;
  try {
    if (const auto answered = answer_admin(r, prefix)) return *answered;
    if (const view::Asset* asset = view::find_asset(name)) {
      return is_read ? send_asset(r, *asset) : NGX_HTTP_NOT_ALLOWED;
    }
    const auto page = page_of(r, name);
    if (!page) return NGX_HTTP_NOT_FOUND;
    return is_read ? send_page(r, *page) : NGX_HTTP_NOT_ALLOWED;
  } catch (const std::exception&) {  // only std::bad_alloc
    return NGX_HTTP_INTERNAL_SERVER_ERROR;
  }
}

}  // namespace

bool has_dashboard(const ngx_http_core_loc_conf_t* location) noexcept {
  return location->handler == dashboard_handler;
}

char* set_dashboard(ngx_conf_t* cf, ngx_command_t*, void*) noexcept {
  auto* core = static_cast<ngx_http_core_loc_conf_t*>(
      ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module));
  bool is_prefix = !core->exact_match && !core->named && !core->noname;
#if (NGX_PCRE)
  is_prefix = is_prefix && core->regex == nullptr;
#endif
  if (!is_prefix || !view(core->name).ends_with('/')) {
    ngx_conf_log_error(
        NGX_LOG_EMERG, cf, 0,
        "headgate_dashboard: expected a location with a prefix that ends with \"/\", "
        "such as \"location /headgate/\"");
    return static_cast<char*>(NGX_CONF_ERROR);
  }
  core->handler = dashboard_handler;
  core->auto_redirect = 1;  // of the prefix without its slash, on which relative paths depend
  auto* main =
      static_cast<MainConf*>(ngx_http_conf_get_module_main_conf(cf, ngx_http_headgate_module));
  main->has_dashboard = true;
  return NGX_CONF_OK;
}

}  // namespace headgate::nginx
