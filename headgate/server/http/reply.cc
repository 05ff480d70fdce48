#include "headgate/server/http/reply.h"

#include <time.h>

#include <boost/beast/http/status.hpp>
#include <ostream>  // status.hpp needs it

#include "headgate/base/writer.h"
#include "headgate/field/date/http_date.h"

namespace headgate::server {

std::string_view DateLine::text() noexcept {
  timespec now{};
  clock_gettime(CLOCK_REALTIME_COARSE, &now);
  if (now.tv_sec != second_) {
    second_ = now.tv_sec;
    Writer out(text_);
    out.put("Date: ");
    const bool written = field::write_http_date(out, second_);
    out.put("\r\n");
    size_ = written ? out.text().size() : 0;
  }
  return {text_, size_};
}

std::string_view reason_phrase(unsigned status) noexcept {
  const auto known = boost::beast::http::int_to_status(status);
  if (known == boost::beast::http::status::unknown) return {};
  const auto reason = boost::beast::http::obsolete_reason(known);
  return {reason.data(), reason.size()};
}

void HttpReply::begin(unsigned status) {
  if (status == 200) {
    out_.append("HTTP/1.1 200 OK\r\n");
  } else {
    out_.append("HTTP/1.1 ");
    append_decimal(out_, status);
    out_.append(" ").append(reason_phrase(status)).append("\r\n");
  }
  out_.append(date_.text());
  if (!connection_.keeps_alive) {
    out_.append("Connection: close\r\n");
  } else if (connection_.is_http_1_0) {
    out_.append("Connection: keep-alive\r\n");
  }
}

void HttpReply::end(std::string_view type, std::string_view body) {
  if (!type.empty()) field("Content-Type", type);
  field("Content-Length", body.size());
  out_.append("\r\n");
  if (!connection_.is_head) out_.append(body);
}

}  // namespace headgate::server
