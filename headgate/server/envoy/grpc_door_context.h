// The state that the connections of one gRPC door share.
#pragma once

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "headgate/server/answers.h"
#include "headgate/server/channel.h"
#include "headgate/server/credentials.h"
#include "headgate/server/door.h"
#include "headgate/server/envoy/grpc_services.h"
#include "headgate/server/envoy/http2_memory.h"
#include "headgate/server/worker_context.h"
#include "headgate/server/wrong_tokens.h"

namespace headgate::server {

// What every connection's nghttp2 is made with.
struct Http2Callbacks {
  struct Delete {
    void operator()(nghttp2_session_callbacks* of) const noexcept {
      nghttp2_session_callbacks_del(of);
    }
    void operator()(nghttp2_option* of) const noexcept { nghttp2_option_del(of); }
  };
  // Throws std::bad_alloc.
  Http2Callbacks();

  std::unique_ptr<nghttp2_session_callbacks, Delete> callbacks;
  std::unique_ptr<nghttp2_option, Delete> option;
};

// One thread.
struct GrpcDoorContext {
  GrpcDoorContext(WorkerContext& worker, const DoorOptions& its_options)
      : options(its_options),
        credentials(*options.credentials),
        stats(worker.stats()),
        answers(worker.answers()),
        wrong_tokens(DoorKind::grpc, *options.credentials, worker.stats(), options.patience),
        services(worker),
        memory(memory_max / std::max(options.threads, 1u)) {}

  // What all connections of a listener may have beyond Http2Memory::own each: small beside the
  // memory of any server, and 50 clients at their most.
  static constexpr std::size_t memory_max = std::size_t{48} << 20;

  const DoorOptions options;
  CredentialsView credentials;
  DecisionStats& stats;
  const Answers& answers;
  WrongTokens wrong_tokens;
  GrpcServices services;
  Http2Callbacks http2;
  Http2MemoryPool memory;
  Channel::Unsent unsent;
  std::uint64_t now = 0;  // [s], while there are connections
  // Memory that all connections receive into: the longest frame.
  std::array<char, 16 * 1024 + 9> input;
  std::string output;
};

}  // namespace headgate::server
