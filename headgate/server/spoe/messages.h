// The two messages that HAProxy sends: one for a request, one for its response.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "headgate/base/result.h"
#include "headgate/net/spoe_messages.h"
#include "headgate/policy/request.h"
#include "headgate/server/spoe/headers.h"

namespace headgate::server {

// All members are views of the frame.
class SpoeRequest {
 public:
  // Of the message headgate-request. Errors: what is wrong with its arguments.
  [[nodiscard]] static Result<SpoeRequest, std::string> read(const net::SpoeMessage& message);

  // Consists of views of this and of the frame.
  [[nodiscard]] policy::Request request() const noexcept;
  [[nodiscard]] const SpoeHeaders& headers() const noexcept { return headers_; }

 private:
  SpoeRequest() = default;

  policy::Request request_;  // without headers
  SpoeHeaders headers_;
};

class SpoeResponse {
 public:
  // Of the message headgate-response.
  [[nodiscard]] static Result<SpoeResponse, std::string> read(const net::SpoeMessage& message);

  [[nodiscard]] policy::Response response() const noexcept;
  // Of the request; empty if nothing has to be settled.
  [[nodiscard]] std::string_view receipt() const noexcept { return receipt_; }

 private:
  SpoeResponse() = default;

  std::string_view receipt_;
  policy::Response response_;  // without headers
  std::optional<SpoeHeaders> headers_;
};

// The messages of one NOTIFY frame.
struct SpoeNotice {
  std::optional<SpoeRequest> request;
  std::optional<SpoeResponse> response;

  // Reads them all. `reader` is working memory. Errors: what is wrong.
  [[nodiscard]] static Result<SpoeNotice, std::string> read(std::string_view payload,
                                                            net::SpoeMessages& reader);

  // Whether the first message is of a request. The payload may end anywhere behind its name.
  [[nodiscard]] static bool begins_with_request(std::string_view payload) noexcept;
};

}  // namespace headgate::server
