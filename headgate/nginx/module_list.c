// What nginx reads when it loads the file: the modules in it, and their places among nginx's own filters.
#include <ngx_config.h>
#include <ngx_core.h>

extern ngx_module_t ngx_http_headgate_module;
extern ngx_module_t ngx_http_headgate_body_filter_module;

ngx_module_t* ngx_modules[] = {&ngx_http_headgate_module, &ngx_http_headgate_body_filter_module, NULL};

char* ngx_module_names[] = {"ngx_http_headgate_module", "ngx_http_headgate_body_filter_module", NULL};

// Each of ours is placed before the names that follow it, and filters run from the last to the first. So the
// first runs after the filters that create and compress a response, before those that frame and send it. The
// second reads what the upstream has sent, before any other filter has changed it.
char* ngx_module_order[] = {
    "ngx_http_headgate_module",
    "ngx_http_gzip_filter_module",
    "ngx_http_postpone_filter_module",
    "ngx_http_headgate_body_filter_module",
    "ngx_http_copy_filter_module",
    NULL,
};
