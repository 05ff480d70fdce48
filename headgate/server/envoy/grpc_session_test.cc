// A client's HTTP/2, made by nghttp2, against the session, without sockets.
#include "headgate/server/envoy/grpc_session.h"

#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>
#include <ratelimit.pb.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/server/envoy/big_endian.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/testing/taken_places.h"
#include "headgate/server/testing/token_file.h"

namespace headgate::server {
namespace {

namespace pb = envoy::service::ratelimit::v3;

struct Reply {
  std::string message;  // framed
  std::string status;   // grpc-status
  bool is_closed = false;
  std::uint32_t reset = NGHTTP2_NO_ERROR;

  [[nodiscard]] pb::RateLimitResponse read() const {
    pb::RateLimitResponse response;
    EXPECT_GE(message.size(), 5u);
    EXPECT_TRUE(response.ParseFromString(message.substr(5)));
    return response;
  }
};

class Client {
 public:
  Client() {
    nghttp2_session_callbacks* callbacks = nullptr;
    nghttp2_session_callbacks_new(&callbacks);
    nghttp2_session_callbacks_set_on_header_callback(
        callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name,
                      std::size_t name_size, const std::uint8_t* value, std::size_t value_size,
                      std::uint8_t, void* self) {
          if (text(name, name_size) == "grpc-status") {
            of(self).replies_[frame->hd.stream_id].status = text(value, value_size);
          }
          return 0;
        });
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t stream,
                      const std::uint8_t* bytes, std::size_t size, void* self) {
          of(self).replies_[stream].message += text(bytes, size);
          return 0;
        });
    nghttp2_session_callbacks_set_on_stream_close_callback(
        callbacks, [](nghttp2_session*, std::int32_t stream, std::uint32_t code, void* self) {
          of(self).replies_[stream].is_closed = true;
          of(self).replies_[stream].reset = code;
          of(self).closed_.push_back(stream);
          return 0;
        });
    nghttp2_session_client_new(&session_, callbacks, this);
    nghttp2_session_callbacks_del(callbacks);
    nghttp2_submit_settings(session_, NGHTTP2_FLAG_NONE, nullptr, 0);
  }
  ~Client() { nghttp2_session_del(session_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Calls ShouldRateLimit for policy `burst`; returns the stream.
  std::int32_t call(std::string_view key, std::uint32_t cost = 1) { return call_all({key}, cost); }
  // The same with a descriptor for each of these keys.
  std::int32_t call_all(const std::vector<std::string_view>& keys, std::uint32_t cost) {
    pb::RateLimitRequest request;
    request.set_domain("headgate");
    request.set_hits_addend(cost);
    for (const std::string_view key : keys) {
      auto& descriptor = *request.add_descriptors();
      for (const auto& [name, value] :
           {std::pair("policy", std::string_view("burst")), {"key", key}}) {
        auto& entry = *descriptor.add_entries();
        entry.set_key(name);
        entry.set_value(value.data(), value.size());
      }
    }
    return call(request);
  }
  std::int32_t call(const pb::RateLimitRequest& request) {
    const std::string body = request.SerializeAsString();
    const auto length = big_endian(static_cast<std::uint32_t>(body.size()));
    const std::string framed = std::string(1, '\0').append(length.data(), length.size()) + body;
    const auto field = [](std::string_view name, std::string_view value) {
      const auto bytes = [](std::string_view of) {
        return reinterpret_cast<std::uint8_t*>(const_cast<char*>(of.data()));
      };
      return nghttp2_nv{bytes(name), bytes(value), name.size(), value.size(), NGHTTP2_NV_FLAG_NONE};
    };
    std::vector fields = {
        field(":method", "POST"),
        field(":scheme", "http"),
        field(":path", "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"),
        field(":authority", "h"),
        field("te", "trailers"),
        field("content-type", "application/grpc")};
    if (!token_.empty()) fields.push_back(field("authorization", token_));
    nghttp2_data_provider provider{};
    provider.source.ptr = this;
    provider.read_callback = [](nghttp2_session*, std::int32_t stream, std::uint8_t* to,
                                std::size_t room, std::uint32_t* flags, nghttp2_data_source* source,
                                void*) -> ssize_t {
      std::string& rest = of(source->ptr).bodies_[stream];
      const std::size_t withheld = of(source->ptr).withheld_;
      if (withheld > 0 && rest.size() <= withheld) return NGHTTP2_ERR_DEFERRED;
      const std::size_t size = std::min(rest.size() - withheld, room);
      std::memcpy(to, rest.data(), size);
      rest.erase(0, size);
      if (rest.empty()) *flags |= NGHTTP2_DATA_FLAG_EOF;
      return static_cast<ssize_t>(size);
    };
    const std::int32_t stream =
        nghttp2_submit_request(session_, nullptr, fields.data(), fields.size(), &provider, nullptr);
    EXPECT_GT(stream, 0);
    bodies_[stream] = framed;
    return stream;
  }
  // From now on, calls show this token.
  void show(const std::string& token) { token_ = "Bearer " + token; }
  // From now on, does not send the last bytes of messages.
  void withhold(std::size_t bytes) { withheld_ = bytes; }
  void reset(std::int32_t stream) {
    nghttp2_submit_rst_stream(session_, NGHTTP2_FLAG_NONE, stream, NGHTTP2_CANCEL);
  }

  // Exchanges all bytes with the server that it reads.
  void talk(GrpcSession& server) {
    for (bool moves = true; moves;) {
      moves = false;
      const std::uint8_t* bytes = nullptr;
      server.answer_queued();
      for (ssize_t size;
           !server.has_queued() && (size = nghttp2_session_mem_send(session_, &bytes)) > 0;) {
        server.receive(text(bytes, static_cast<std::size_t>(size)));
        moves = true;
      }
      std::string output;
      server.write(output, std::size_t{1} << 20);
      if (output.empty()) continue;
      moves = true;
      EXPECT_EQ(nghttp2_session_mem_recv(
                    session_, reinterpret_cast<const std::uint8_t*>(output.data()), output.size()),
                static_cast<ssize_t>(output.size()));
    }
  }

  [[nodiscard]] const Reply& reply(std::int32_t stream) { return replies_[stream]; }
  // The streams that have ended, in their order.
  [[nodiscard]] const std::vector<std::int32_t>& closed() const { return closed_; }

 private:
  static std::string text(const std::uint8_t* bytes, std::size_t size) {
    return {reinterpret_cast<const char*>(bytes), size};
  }
  static Client& of(void* self) { return *static_cast<Client*>(self); }

  nghttp2_session* session_ = nullptr;
  std::map<std::int32_t, Reply> replies_;
  std::map<std::int32_t, std::string> bodies_;
  std::size_t withheld_ = 0;
  std::string token_;
  std::vector<std::int32_t> closed_;
};

class LateGrpcTest : public testing::Test {
 protected:
  LateGrpcTest() : LateGrpcTest(std::make_shared<Credentials>()) {}
  explicit LateGrpcTest(std::shared_ptr<Credentials> credentials)
      : engine_(open_late_engine(plenty)),
        store_(late_store(*engine_)),
        worker_(*engine_),
        door_(worker_, options(std::move(credentials))) {
    session_.emplace(door_,
                     Resume{[](void* count) noexcept { ++*static_cast<int*>(count); }, &resumed_});
  }
  ~LateGrpcTest() override { store_.complete_all(); }

  static DoorOptions options(std::shared_ptr<Credentials> credentials) {
    DoorOptions made;
    made.credentials = std::move(credentials);
    made.threads = 1;
    return made;
  }

  std::unique_ptr<Engine> engine_;
  store::DeferredStore& store_;
  WorkerContext worker_;
  GrpcDoorContext door_;
  std::optional<GrpcSession> session_;
  int resumed_ = 0;
  Client client_;
};

TEST_F(LateGrpcTest, CallsAreAnsweredInTheOrderOfTheirDecisions) {
  const std::int32_t first = client_.call("a", 10);
  const std::int32_t second = client_.call("a", 20);
  const std::int32_t third = client_.call("b", 1);
  client_.talk(*session_);
  ASSERT_EQ(store_.outstanding(), 3u);
  EXPECT_TRUE(client_.closed().empty());
  EXPECT_FALSE(session_->is_idle());
  EXPECT_EQ(resumed_, 0);
  store_.complete(2);
  EXPECT_EQ(resumed_, 1);
  EXPECT_TRUE(session_->wants_write());
  client_.talk(*session_);
  EXPECT_EQ(client_.closed(), std::vector{third});
  store_.complete(1);
  store_.complete(0);
  client_.talk(*session_);
  EXPECT_EQ(client_.closed().size(), 3u);
  for (const std::int32_t stream : {first, second, third}) {
    EXPECT_EQ(client_.reply(stream).status, "0");
    EXPECT_EQ(client_.reply(stream).read().overall_code(), pb::RateLimitResponse::OK);
  }
  EXPECT_EQ(client_.reply(second).read().statuses(0).limit_remaining(), 999'980u);
  EXPECT_EQ(client_.reply(first).read().statuses(0).limit_remaining(), 999'970u);
  EXPECT_TRUE(session_->is_idle());
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
}

TEST_F(LateGrpcTest, DescriptorsWithTheSamePolicyAndKeyAreOneCheck) {
  const std::int32_t twice = client_.call_all({"a", "b", "a"}, 10);
  const std::int32_t plain = client_.call_all({"b", "c"}, 1);
  const std::int32_t thrice = client_.call_all({"c", "c", "c"}, 7);
  client_.talk(*session_);
  store_.complete_all();
  client_.talk(*session_);
  const auto left = [&](std::int32_t stream) {
    std::vector<std::uint32_t> all;
    const pb::RateLimitResponse response = client_.reply(stream).read();
    for (const auto& status : response.statuses()) all.push_back(status.limit_remaining());
    return all;
  };
  EXPECT_EQ(left(twice), (std::vector{999'980u, 999'990u, 999'980u}));
  EXPECT_EQ(left(plain), (std::vector{999'989u, 999'999u}));
  EXPECT_EQ(left(thrice), (std::vector{999'978u, 999'978u, 999'978u}));
}

TEST_F(LateGrpcTest, ACallThatIsCancelledLeavesItsJob) {
  const std::int32_t cancelled = client_.call("a", 10);
  const std::int32_t stays = client_.call("a", 5);
  client_.talk(*session_);
  client_.reset(cancelled);
  client_.talk(*session_);
  EXPECT_EQ(store_.outstanding(), 2u);
  store_.complete_all();
  EXPECT_EQ(resumed_, 1);
  client_.talk(*session_);
  EXPECT_EQ(client_.reply(stays).read().statuses(0).limit_remaining(), 999'985u) << "it is charged";
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
}

// Envoy sends what its clients have sent, and admits requests whose calls fail.
TEST_F(LateGrpcTest, AMessageWhoseTextIsNoUtf8IsDecidedAndNotLogged) {
  testing::internal::CaptureStderr();
  for (const std::uint32_t left : {999'999u, 999'998u}) {
    const std::int32_t stream = client_.call("\xff");
    client_.talk(*session_);
    store_.complete_all();
    client_.talk(*session_);
    EXPECT_EQ(client_.reply(stream).status, "0");
    EXPECT_EQ(client_.reply(stream).read().statuses(0).limit_remaining(), left);
  }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST_F(LateGrpcTest, ACallThatTakesTooLongIsReset) {
  const std::int32_t stream = client_.call("a");
  client_.talk(*session_);
  EXPECT_TRUE(session_->expire(door_.now + 1));
  client_.talk(*session_);
  EXPECT_EQ(client_.reply(stream).reset, static_cast<std::uint32_t>(NGHTTP2_CANCEL));
  store_.complete_all();
  EXPECT_EQ(resumed_, 0);
}

TEST_F(LateGrpcTest, TheSessionMayEndWhileCallsWait) {
  client_.call("a");
  client_.call("b");
  client_.talk(*session_);
  session_.reset();
  EXPECT_EQ(worker_.answers().outstanding(), 2u);
  store_.complete_all();
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
}

TEST_F(LateGrpcTest, AStopWaitsForAnswers) {
  const std::int32_t stream = client_.call("a");
  client_.talk(*session_);
  session_->stop();
  client_.talk(*session_);
  EXPECT_FALSE(session_->has_ended());
  store_.complete();
  client_.talk(*session_);
  EXPECT_EQ(client_.reply(stream).status, "0");
  EXPECT_TRUE(session_->has_ended());
}

// Envoy's clients make messages long, by a header field that descriptors have. A frame has 16 KiB,
// and the streams' frames take turns.
TEST_F(LateGrpcTest, LongMessagesThatComeTogetherDoNotWaitForEachOther) {
  const std::string key(40'000, 'k');
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 20; ++i) streams.push_back(client_.call(key));
  const std::int32_t usual = client_.call("a");
  client_.talk(*session_);
  store_.complete_all();
  client_.talk(*session_);
  ASSERT_EQ(client_.reply(usual).status, "0");
  EXPECT_EQ(client_.reply(usual).read().overall_code(), pb::RateLimitResponse::OK);
  std::size_t denied = 0;
  for (const std::int32_t stream : streams) {
    ASSERT_EQ(client_.reply(stream).status, "0");
    if (client_.reply(stream).read().overall_code() == pb::RateLimitResponse::OVER_LIMIT) ++denied;
  }
  EXPECT_GT(denied, 0u);
  EXPECT_LT(denied, streams.size());
}

TEST_F(LateGrpcTest, AMessageThatHasComeWholeIsNotDeniedForOthersThatHaveNot) {
  client_.withhold(9'000);
  for (int i = 0; i < 4; ++i) client_.call(std::string(60'000, 'k'));
  client_.talk(*session_);
  client_.withhold(0);
  const std::int32_t whole = client_.call(std::string(59'000, 'w'));
  client_.talk(*session_);
  store_.complete_all();
  client_.talk(*session_);
  EXPECT_EQ(client_.reply(whole).read().overall_code(), pb::RateLimitResponse::OK);
}

TEST_F(LateGrpcTest, MessagesThatAreTooLongAreDeniedHoweverManyComeTogether) {
  const std::string key(60'000, 'k');
  std::vector<std::int32_t> streams;
  for (int i = 0; i < 100; ++i) {
    streams.push_back(client_.call_all(std::vector<std::string_view>(10, key), 1));
  }
  client_.talk(*session_);
  for (const std::int32_t stream : streams) {
    ASSERT_EQ(client_.reply(stream).status, "0");
    EXPECT_EQ(client_.reply(stream).read().overall_code(), pb::RateLimitResponse::OVER_LIMIT);
  }
  EXPECT_FALSE(session_->has_ended());
}

TEST_F(LateGrpcTest, NoMoreCallsWaitThanThereIsRoomFor) {
  const TakenPlaces others(worker_);
  const std::int32_t stream = client_.call("a");
  client_.talk(*session_);
  EXPECT_EQ(client_.reply(stream).status, "14") << "unavailable";
  EXPECT_EQ(store_.outstanding(), Answers::most);
}

TEST_F(LateGrpcTest, CallsBeyondAConnectionsShareWaitAndLeavePlacesToOthers) {
  std::vector<std::int32_t> streams;
  while (streams.size() < GrpcSession::calls_max) streams.push_back(client_.call("a", 0));
  client_.talk(*session_);
  const std::size_t share = store_.outstanding();
  EXPECT_LE(2 * share, Answers::most - Answers::kept);
  EXPECT_TRUE(session_->is_full());
  EXPECT_FALSE(session_->is_idle());

  Client other;
  GrpcSession its_session(door_);
  const std::int32_t polite = other.call("b", 1);
  other.talk(its_session);
  ASSERT_EQ(store_.outstanding(), share + 1);
  store_.complete(share);
  other.talk(its_session);
  EXPECT_EQ(other.reply(polite).status, "0");

  store_.complete();
  EXPECT_FALSE(session_->is_full());
  client_.talk(*session_);
  EXPECT_EQ(store_.outstanding(), share);
  while (store_.outstanding() > 0) {
    store_.complete_all();
    client_.talk(*session_);
  }
  for (const std::int32_t stream : streams) ASSERT_EQ(client_.reply(stream).status, "0");
  EXPECT_EQ(client_.closed(), streams) << "in their order";
  EXPECT_TRUE(session_->is_idle());
}

// Envoy cancels calls that take longer than its time-out, and goes on.
TEST_F(LateGrpcTest, ACancelledCallHasItsPlaceUntilItsAnswer) {
  std::vector<std::int32_t> cancelled;
  while (!session_->is_full()) {
    cancelled.push_back(client_.call("a", 0));
    client_.talk(*session_);
  }
  session_->expire(door_.now + 1);
  client_.talk(*session_);
  EXPECT_EQ(client_.closed().size(), cancelled.size());
  EXPECT_TRUE(session_->is_idle());
  const std::size_t share = store_.outstanding();
  const std::int32_t next = client_.call("a", 0);
  client_.talk(*session_);
  EXPECT_EQ(store_.outstanding(), share);
  resumed_ = 0;
  store_.complete();
  EXPECT_EQ(resumed_, 1) << "for the one that waits";
  client_.talk(*session_);
  EXPECT_EQ(store_.outstanding(), share);
  store_.complete_all();
  client_.talk(*session_);
  EXPECT_EQ(client_.reply(next).status, "0");
  EXPECT_EQ(worker_.answers().outstanding(), 0u);
}

struct WithToken {
  TokenFile file{"the-first-token-of-all"};
  std::shared_ptr<Credentials> credentials =
      Credentials::open({.token = file.path(), .read_token = {}, .admin_token = {}, .tls = {}})
          .value();
};

class ReplacedTokenTest : private WithToken, public LateGrpcTest {
 protected:
  ReplacedTokenTest() : LateGrpcTest(credentials) {
    client_.show("the-first-token-of-all");
    for (int i = 0; i < 400; ++i) streams_.push_back(client_.call("a", 0));
    client_.talk(*session_);
    EXPECT_GT(session_->memory_used(), Http2Memory::own);
    file.write("the-second-token-of-all");
    EXPECT_TRUE(credentials->reload());
    session_->receive("");  // a turn without input
  }

  void answer_all() {
    while (store_.outstanding() > 0) {
      store_.complete_all();
      client_.talk(*session_);
    }
  }

  std::vector<std::int32_t> streams_;
};

TEST_F(ReplacedTokenTest, CallsThatCameBeforeAreAnswered) {
  answer_all();
  for (const std::int32_t stream : streams_) ASSERT_EQ(client_.reply(stream).status, "0");
  EXPECT_FALSE(session_->is_trusted());
  EXPECT_FALSE(session_->has_ended());
}

TEST_F(ReplacedTokenTest, ACallWithTheNewOneIsAnsweredBesideThem) {
  client_.show("the-second-token-of-all");
  streams_.push_back(client_.call("a", 0));
  client_.talk(*session_);
  EXPECT_TRUE(session_->is_trusted());
  answer_all();
  for (const std::int32_t stream : streams_) ASSERT_EQ(client_.reply(stream).status, "0");
}

TEST_F(ReplacedTokenTest, WhenTheyAreAnsweredTheConnectionHasTheMemoryOfAStranger) {
  answer_all();
  for (int i = 0; i < 1000; ++i) client_.call("a", 0);
  client_.talk(*session_);
  EXPECT_TRUE(session_->is_broken());
  EXPECT_LE(session_->memory_used(), Http2Memory::own);
}

}  // namespace
}  // namespace headgate::server
