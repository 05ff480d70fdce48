// The state that the connections of one gRPC door share.
#pragma once

#include <nghttp2/nghttp2.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "headgate/server/door.h"
#include "headgate/server/envoy/grpc_services.h"
#include "headgate/server/envoy/http2_memory.h"
#include "headgate/server/worker_context.h"

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
      : options(its_options), services(worker), memory(memory_max / its_options.threads) {}

  // What all connections of a listener may have beyond Http2Memory::own each: small beside the
  // memory of any server, and 50 clients at their most.
  static constexpr std::size_t memory_max = std::size_t{48} << 20;

  const DoorOptions options;
  GrpcServices services;
  Http2Callbacks http2;
  Http2MemoryPool memory;
  std::uint64_t now = 0;  // [s], since the door was made
  // Memory that all connections receive into: the longest frame.
  std::array<char, 16 * 1024 + 9> input;
  std::string output;
};

}  // namespace headgate::server
