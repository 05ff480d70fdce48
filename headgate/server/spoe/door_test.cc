// Runs the door on one end of pairs of sockets and HAProxy's side on the other, all in one thread.

#include "headgate/server/spoe/door.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headgate/base/testing/allocations.h"
#include "headgate/net/spoe_reader.h"
#include "headgate/net/testing/spoe_frames.h"
#include "headgate/server/testing/client_end.h"
#include "headgate/server/testing/open_engine.h"
#include "headgate/server/testing/taken_places.h"
#include "headgate/server/worker_context.h"

namespace headgate::server {
namespace {

using net::spoe_binary;
using net::spoe_integer;
using net::spoe_text;
using net::SpoeCursor;
using net::SpoeFrame;
using net::SpoeFrameType;
using net::SpoeStatus;
using net::SpoeType;
using testing::HasSubstr;

constexpr std::string_view policies =
    "policies: [{name: burst, quota: 1000000, window: 1000d, key: [\"header:x-key\"]},"
    "{name: slots, algorithm: concurrency, quota: 2, lease: 1h, match: [{path: /slow}]},"
    "{name: late, quota: 1000, window: 1000d, cost: response-bytes, match: [{path: /late}]},"
    "{name: none, quota: 0, window: 7s, match: [{path: /none}]}]";

std::string request_message(std::string_view path, std::string_view key = "k") {
  const std::string headers = net::spoe_headers({{"host", "localhost"}, {"x-key", key}});
  return net::spoe_message("headgate-request", {{"method", spoe_text("GET")},
                                                {"path", spoe_text(path)},
                                                {"src", {SpoeType::ipv4, 0, "abcd"}},
                                                {"headers", spoe_binary(headers)}});
}

std::string notify(std::string_view payload, std::uint64_t stream = 1, std::uint64_t frame = 1) {
  return net::spoe_frame(SpoeFrameType::notify, SpoeFrame::fin, stream, frame, payload);
}

std::string request(std::string_view path, std::uint64_t stream = 1) {
  return notify(request_message(path), stream);
}

std::string response(std::string_view receipt, std::uint64_t bytes = 0) {
  return notify(net::spoe_message("headgate-response", {{"receipt", spoe_binary(receipt)},
                                                        {"status", spoe_integer(200)},
                                                        {"bytes", spoe_integer(bytes)}}));
}

// A frame of the agent.
struct Answer {
  SpoeFrameType type{};
  std::uint32_t flags = 0;
  std::uint64_t stream = 0;
  std::uint64_t frame = 0;
  std::map<std::string, std::string> values;  // variables, or items of HELLO and DISCONNECT
  std::vector<std::string> unset;

  [[nodiscard]] std::string value(const std::string& name) const {
    const auto found = values.find(name);
    return found == values.end() ? "(none)" : found->second;
  }
};

std::string text_of(const net::SpoeValue& value) {
  return value.is_integer() ? std::to_string(value.number) : std::string(value.bytes);
}

// Reads one frame and removes it from `bytes`. REQUIRES: it is whole and well-formed.
Answer take_frame(std::string& bytes) {
  SpoeCursor head(bytes);
  std::uint32_t size = 0;
  for (int i = 0; i < 4; ++i) size = size << 8 | head.byte().value();
  SpoeCursor cursor(head.bytes(size).value());
  Answer answer;
  answer.type = static_cast<SpoeFrameType>(cursor.byte().value());
  for (int i = 0; i < 4; ++i) answer.flags = answer.flags << 8 | cursor.byte().value();
  answer.stream = cursor.varint().value();
  answer.frame = cursor.varint().value();
  while (!cursor.at_end()) {
    if (answer.type == SpoeFrameType::ack) {
      const bool sets = cursor.byte() == 1;
      EXPECT_EQ(cursor.byte(), sets ? 3 : 2);
      EXPECT_EQ(cursor.byte(), 2);  // the transaction
      const std::string name(cursor.text().value());
      if (sets) {
        answer.values[name] = text_of(cursor.value().value());
      } else {
        answer.unset.push_back(name);
      }
    } else {
      const std::string name(cursor.text().value());
      answer.values[name] = text_of(cursor.value().value());
    }
  }
  bytes.erase(0, 4 + size);
  return answer;
}

class SpoeDoorTest : public testing::Test {
 protected:
  explicit SpoeDoorTest(std::unique_ptr<Engine> engine = open_engine(policies))
      : engine_(std::move(engine)), worker_(*engine_) {
    make();
  }
  void make() { door_ = make_spoe_door(worker_, io_, options_); }

  class Haproxy : public ClientEnd {
   public:
    explicit Haproxy(SpoeDoorTest& test) : ClientEnd(test.io_, *test.door_) {}

    // What has come so far.
    std::string& received() {
      take_into(received_);
      return received_;
    }
    // Waits for a frame. Runs the door meanwhile.
    Answer receive_frame() {
      while (!frame_size()) received_ += receive();
      return take_frame(received_);
    }
    // Whether so many whole frames have come. Allocates nothing.
    [[nodiscard]] bool has_received(int frames) {
      std::size_t at = 0;
      for (; frames > 0; --frames) {
        const auto size = frame_size(at);
        if (!size) return false;
        at += 4 + *size;
      }
      return true;
    }
    Answer ask(std::string_view frame) {
      send(frame);
      return receive_frame();
    }
    Answer greet() { return ask(net::spoe_hello()); }

   private:
    // Of the frame at `from`, if it has come whole.
    std::optional<std::size_t> frame_size(std::size_t from = 0) {
      received();
      SpoeCursor head(std::string_view(received_).substr(from));
      std::size_t size = 0;
      for (int i = 0; i < 4; ++i) {
        const auto byte = head.byte();
        if (!byte) return std::nullopt;
        size = size << 8 | *byte;
      }
      return head.rest().size() < size ? std::nullopt : std::optional(size);
    }

    std::string received_;
  };

  boost::asio::io_context io_{1};
  std::unique_ptr<Engine> engine_;
  WorkerContext worker_;
  DoorOptions options_;
  std::unique_ptr<Door> door_;
};

TEST_F(SpoeDoorTest, GreetsAndDecides) {
  Haproxy haproxy(*this);
  const Answer hello = haproxy.greet();
  EXPECT_EQ(hello.type, SpoeFrameType::agent_hello);
  EXPECT_EQ(hello.value("version"), "2.0");
  EXPECT_EQ(hello.value("max-frame-size"), "16380");
  EXPECT_EQ(hello.value("capabilities"), "fragmentation,pipelining");

  const Answer admitted = haproxy.ask(notify(request_message("/"), 300, 7));
  EXPECT_EQ(admitted.type, SpoeFrameType::ack);
  EXPECT_EQ(admitted.flags, SpoeFrame::fin);
  EXPECT_EQ(admitted.stream, 300u);
  EXPECT_EQ(admitted.frame, 7u);
  EXPECT_EQ(admitted.value("verdict"), "admitted");
  EXPECT_EQ(admitted.value("ratelimit_policy"), "\"burst\";q=1000000;w=86400000");
  EXPECT_THAT(admitted.value("ratelimit"), HasSubstr("\"burst\";r=999999;t="));
  for (const char* name : {"status", "retry_after", "receipt", "problem", "policy"}) {
    EXPECT_EQ(admitted.value(name), "(none)") << name;
  }

  const Answer denied = haproxy.ask(request("/none"));
  EXPECT_EQ(denied.value("verdict"), "denied");
  EXPECT_EQ(denied.value("status"), "429");
  EXPECT_EQ(denied.value("policy"), "none");
  EXPECT_THAT(denied.value("ratelimit"), HasSubstr("\"none\";r=0"));
  EXPECT_THAT(denied.value("problem"), HasSubstr("\"violated-policies\":[\"none\"]"));
}

TEST_F(SpoeDoorTest, HealthChecksEndWithTheHello) {
  Haproxy haproxy(*this);
  const Answer hello = haproxy.ask(
      net::spoe_frame(SpoeFrameType::haproxy_hello, SpoeFrame::fin, 0, 0,
                      net::spoe_items({{"supported-versions", spoe_text("2.0")},
                                       {"max-frame-size", {SpoeType::uint32, 16380, {}}},
                                       {"capabilities", spoe_text("")},
                                       {"healthcheck", {SpoeType::boolean, 1, {}}}})));
  EXPECT_EQ(hello.type, SpoeFrameType::agent_hello);
  EXPECT_EQ(hello.value("capabilities"), "fragmentation");
  EXPECT_EQ(haproxy.receive(), "");
}

TEST_F(SpoeDoorTest, AnswersADisconnect) {
  Haproxy haproxy(*this);
  haproxy.greet();
  const Answer answer = haproxy.ask(net::spoe_frame(
      SpoeFrameType::haproxy_disconnect, SpoeFrame::fin, 0, 0,
      net::spoe_items({{"status-code", spoe_integer(0)}, {"message", spoe_text("normal")}})));
  EXPECT_EQ(answer.type, SpoeFrameType::agent_disconnect);
  EXPECT_EQ(answer.value("status-code"), "0");
  EXPECT_EQ(haproxy.receive(), "");
}

TEST_F(SpoeDoorTest, FaultsHaveTheProtocolsStatus) {
  const std::string hello = net::spoe_hello();
  const auto frame = [](SpoeFrameType type, std::uint32_t flags, std::uint64_t id) {
    return net::spoe_frame(type, flags, 1, id, "");
  };
  const std::pair<std::string, SpoeStatus> faults[] = {
      {"GET / HTTP/1.1\r\n\r\n", SpoeStatus::too_big},
      {request("/"), SpoeStatus::invalid},
      {net::spoe_hello(255), SpoeStatus::bad_frame_size},
      {hello + hello, SpoeStatus::invalid},
      {hello + net::spoe_number(16381), SpoeStatus::too_big},
      {hello + frame(SpoeFrameType::unset, SpoeFrame::fin, 1), SpoeStatus::unknown_frame_id},
      {hello + frame(SpoeFrameType::notify, 0, 1) + frame(SpoeFrameType::notify, 1, 2),
       SpoeStatus::interlaced},
      {hello + notify("not a message"), SpoeStatus::invalid},
      {hello + response("not a receipt"), SpoeStatus::invalid},
  };
  for (const auto& [bytes, status] : faults) {
    Haproxy haproxy(*this);
    haproxy.send(bytes);
    Answer answer = haproxy.receive_frame();
    if (answer.type == SpoeFrameType::agent_hello) answer = haproxy.receive_frame();
    EXPECT_EQ(answer.type, SpoeFrameType::agent_disconnect);
    EXPECT_EQ(answer.value("status-code"), std::to_string(static_cast<int>(status)));
    EXPECT_LT(answer.value("message").size(), 256u);
    EXPECT_EQ(haproxy.receive(), "");
  }
}

TEST_F(SpoeDoorTest, JoinsFragmentsHoweverTheyArrive) {
  Haproxy haproxy(*this);
  haproxy.greet();
  const std::string payload = request_message("/", std::string(20'000, 'k'));
  std::string stream;
  for (std::size_t at = 0; at < payload.size(); at += 5000) {
    const bool is_last = at + 5000 >= payload.size();
    stream += net::spoe_frame(at == 0 ? SpoeFrameType::notify : SpoeFrameType::unset,
                              is_last ? SpoeFrame::fin : 0, 5, 1, payload.substr(at, 5000));
  }
  for (std::size_t at = 0; at < stream.size(); at += 777) {
    haproxy.send(stream.substr(at, 777));
    io_.poll();
  }
  const Answer answer = haproxy.receive_frame();
  EXPECT_EQ(answer.stream, 5u);
  EXPECT_EQ(answer.value("verdict"), "admitted");
}

// HAProxy admits a request without a verdict, so a client could choose not to be limited.
TEST_F(SpoeDoorTest, TooManyFragmentsOfARequestAreDeniedAndTheNextFrameIsAnswered) {
  Haproxy haproxy(*this);
  haproxy.greet();
  const std::string part(10'000, 'x');
  const auto answer_to = [&](std::string_view beginning) {
    haproxy.send(net::spoe_frame(SpoeFrameType::notify, 0, 5, 1, beginning));
    for (std::size_t i = 0; i < 7; ++i) {
      haproxy.send(net::spoe_frame(SpoeFrameType::unset, 0, 5, 1, part));
      io_.poll();
    }
    EXPECT_EQ(haproxy.received(), "") << "the client may send more";
    return haproxy.ask(net::spoe_frame(SpoeFrameType::unset, SpoeFrame::fin, 5, 1, part));
  };
  const Answer denied = answer_to(request_message("/"));
  EXPECT_EQ(denied.type, SpoeFrameType::ack);
  EXPECT_EQ(denied.flags, SpoeFrame::fin);
  EXPECT_EQ(denied.stream, 5u);
  EXPECT_EQ(denied.value("verdict"), "denied");
  EXPECT_EQ(denied.value("status"), "431");
  EXPECT_EQ(haproxy.ask(request("/")).value("verdict"), "admitted");
  EXPECT_EQ(answer_to(std::string(1, '\x11') + "headgate-response").value("verdict"), "(none)");
  EXPECT_EQ(haproxy.ask(request("/")).value("verdict"), "admitted");
}

TEST_F(SpoeDoorTest, AnAnswerFitsIntoTheSmallestFrame) {
  Haproxy haproxy(*this);
  haproxy.ask(net::spoe_hello(256));
  const std::string payload = request_message("/none");
  haproxy.send(net::spoe_frame(SpoeFrameType::notify, 0, 1, 1, payload.substr(0, 20)) +
               net::spoe_frame(SpoeFrameType::unset, 1, 1, 1, payload.substr(20)));
  while (haproxy.received().empty()) io_.run_one();
  EXPECT_LE(haproxy.received().size(), 4u + 256u);
  const Answer answer = haproxy.receive_frame();
  EXPECT_EQ(answer.value("verdict"), "denied");
  EXPECT_EQ(answer.value("status"), "429");
  EXPECT_EQ(answer.value("problem"), "(none)");
}

class PlainSpoeDoorTest : public SpoeDoorTest {
 protected:
  PlainSpoeDoorTest()
      : SpoeDoorTest(open_engine("partition-key: plain\n" + std::string(policies))) {}
};

TEST_F(PlainSpoeDoorTest, FieldsThatDoNotFitIntoTheFrameAreCounted) {
  Haproxy haproxy(*this);
  haproxy.ask(net::spoe_hello(1000));
  const Answer answer = haproxy.ask(notify(request_message("/", std::string(740, 'k'))));
  EXPECT_EQ(answer.value("verdict"), "admitted");
  EXPECT_EQ(answer.value("ratelimit"), "(none)");
  EXPECT_EQ(answer.value("ratelimit_policy"), "(none)");
  EXPECT_EQ(worker_.stats().fields_left_out(), 2u);
}

TEST_F(SpoeDoorTest, AReceiptIsSettledOverAnyConnection) {
  Haproxy first(*this);
  Haproxy second(*this);
  first.greet();
  second.greet();
  const std::string one = first.ask(request("/slow")).value("receipt");
  EXPECT_EQ(first.ask(request("/slow")).value("verdict"), "admitted");
  EXPECT_EQ(first.ask(request("/slow")).value("verdict"), "denied");
  const Answer settled = second.ask(response(one));
  EXPECT_EQ(settled.unset, std::vector<std::string>{"receipt"});
  EXPECT_EQ(first.ask(request("/slow")).value("verdict"), "admitted");
  EXPECT_EQ(first.ask(request("/slow")).value("verdict"), "denied");
}

TEST_F(SpoeDoorTest, AReceiptOfAnotherVersionClosesNoConnection) {
  Haproxy haproxy(*this);
  haproxy.greet();
  for (const char* const receipt : {"\x03 of before", "\x05 of later"}) {
    const Answer answer = haproxy.ask(response(receipt));
    EXPECT_EQ(answer.type, SpoeFrameType::ack);
    EXPECT_EQ(answer.unset, std::vector<std::string>{"receipt"});
  }
  EXPECT_EQ(haproxy.ask(request("/")).value("verdict"), "admitted");
}

TEST_F(SpoeDoorTest, LateCostsAreCharged) {
  Haproxy haproxy(*this);
  haproxy.greet();
  const Answer before = haproxy.ask(request("/late"));
  EXPECT_THAT(before.value("ratelimit"), HasSubstr("\"late\";r=999;"));
  haproxy.ask(response(before.value("receipt"), 400));
  EXPECT_THAT(haproxy.ask(request("/late")).value("ratelimit"), HasSubstr("\"late\";r=599;"));
}

TEST_F(SpoeDoorTest, TurnsAwayMoreConnectionsThanItMayHave) {
  options_.connections_max = 4;
  make();
  std::vector<std::unique_ptr<Haproxy>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(std::make_unique<Haproxy>(*this));
    all.back()->greet();
  }
  Haproxy fifth(*this);
  const Answer answer = fifth.receive_frame();
  EXPECT_EQ(answer.type, SpoeFrameType::agent_disconnect);
  EXPECT_EQ(answer.value("message"), "too many connections");
  EXPECT_EQ(fifth.receive(), "");
}

TEST_F(SpoeDoorTest, AllocatesNothingOnceItIsWarm) {
  Haproxy haproxy(*this);
  haproxy.greet();
  const std::string frame = request("/slow") + request("/none");
  const auto decide = [&] {
    haproxy.send(frame);
    while (!haproxy.has_received(2)) io_.run_one();
    haproxy.received().clear();
  };
  for (int i = 0; i < 3; ++i) decide();
  EXPECT_TRUE(allocates_nothing([&] {
    for (int i = 0; i < 20; ++i) decide();
  }));
}

TEST_F(SpoeDoorTest, AnyBytesGetFramesOrTheEnd) {
  const std::string stream = net::spoe_hello() + request("/") + request("/slow") + response("x");
  rc::check([&](unsigned at, unsigned char byte, const std::string& more) {
    Haproxy haproxy(*this);
    std::string bytes = stream;
    bytes[at % bytes.size()] = static_cast<char>(byte);
    haproxy.send(bytes + more);
    io_.poll();
    while (!haproxy.received().empty()) take_frame(haproxy.received());
  });
}

TEST_F(SpoeDoorTest, AStopEndsIdleConnections) {
  Haproxy idle(*this);
  Haproxy busy(*this);
  idle.greet();
  busy.greet();
  const std::string frame = request("/");
  busy.send(frame.substr(0, 10));
  io_.poll();
  door_->stop();
  EXPECT_EQ(idle.receive(), "");
  EXPECT_EQ(busy.ask(frame.substr(10)).value("verdict"), "admitted");
  EXPECT_EQ(busy.receive(), "");
  io_.run();  // returns: the door waits for nothing any more
}

TEST_F(SpoeDoorTest, AStopWaitsForNobodyWhoIsSilent) {
  Haproxy silent(*this);
  door_->stop();
  io_.run_for(std::chrono::seconds(5));  // less than the time for a handshake
  ASSERT_TRUE(io_.stopped()) << "nothing is waited for";
  EXPECT_EQ(silent.receive(), "");
}

// ---- a store that answers later

class LateSpoeDoorTest : public SpoeDoorTest {
 protected:
  LateSpoeDoorTest() : SpoeDoorTest(open_late_engine(policies)), store_(late_store(*engine_)) {}
  ~LateSpoeDoorTest() override { store_.complete_all(); }

  void run() {
    io_.restart();
    io_.poll();
  }
  void complete(std::size_t nth = 0) {
    store_.complete(nth);
    run();
  }

  store::DeferredStore& store_;
};

TEST_F(LateSpoeDoorTest, WithPipeliningAcksComeInTheOrderOfTheAnswers) {
  Haproxy haproxy(*this);
  haproxy.greet();
  haproxy.send(request("/", 1) + request("/", 2) + request("/", 3));
  run();
  ASSERT_EQ(store_.outstanding(), 3u);
  EXPECT_EQ(haproxy.received(), "");
  complete(1);
  EXPECT_EQ(haproxy.receive_frame().stream, 2u);
  complete(1);
  EXPECT_EQ(haproxy.receive_frame().stream, 3u);
  complete(0);
  EXPECT_EQ(haproxy.receive_frame().stream, 1u);
}

TEST_F(LateSpoeDoorTest, WithoutPipeliningFramesWait) {
  Haproxy haproxy(*this);
  haproxy.ask(net::spoe_hello(16380, ""));
  io_.restart();
  haproxy.send(request("/", 1) + request("/", 2));
  run();
  EXPECT_EQ(store_.outstanding(), 1u);
  complete();
  EXPECT_EQ(haproxy.receive_frame().stream, 1u);
  EXPECT_EQ(store_.outstanding(), 1u);
  complete();
  EXPECT_EQ(haproxy.receive_frame().stream, 2u);
}

TEST_F(LateSpoeDoorTest, ABoundedNumberOfFramesWaits) {
  Haproxy haproxy(*this);
  haproxy.greet();
  std::string frames;
  for (std::uint64_t i = 1; i <= 100; ++i) frames += request("/", i);
  haproxy.send(frames);
  run();
  EXPECT_EQ(store_.outstanding(), 64u);
  complete();
  EXPECT_EQ(store_.outstanding(), 64u);
  while (store_.outstanding() > 0) complete();
  for (std::uint64_t i = 1; i <= 100; ++i) EXPECT_EQ(haproxy.receive_frame().stream, i);
}

TEST_F(LateSpoeDoorTest, SettlingDoesNotWait) {
  Haproxy haproxy(*this);
  haproxy.greet();
  haproxy.send(request("/slow"));
  run();
  complete();
  haproxy.send(response(haproxy.receive_frame().value("receipt")));
  run();
  EXPECT_EQ(haproxy.receive_frame().unset, std::vector<std::string>{"receipt"});
  EXPECT_EQ(store_.outstanding(), 1u);
}

TEST_F(LateSpoeDoorTest, AConnectionThatEndsGivesItsSlotsBack) {
  {
    Haproxy leaving(*this);
    leaving.greet();
    leaving.send(request("/slow", 1) + request("/slow", 2));
    run();
    ASSERT_EQ(store_.outstanding(), 2u);
  }
  run();
  while (store_.outstanding() > 0) complete();
  Haproxy other(*this);
  other.greet();
  other.send(request("/slow"));
  run();
  complete();
  EXPECT_THAT(other.receive_frame().value("ratelimit"), HasSubstr("\"slots\";r=1"));
}

TEST_F(LateSpoeDoorTest, TooManyDecisionsGetNoVerdict) {
  const TakenPlaces others(worker_);
  Haproxy one_more(*this);
  one_more.greet();
  const Answer answer = one_more.ask(request("/"));
  EXPECT_EQ(answer.type, SpoeFrameType::ack);
  EXPECT_EQ(answer.value("verdict"), "(none)");
  EXPECT_EQ(answer.unset, std::vector<std::string>{"verdict"});
}

TEST_F(LateSpoeDoorTest, FramesAreReadOnLaterAndLeavePlacesToOthers) {
  constexpr std::uint64_t count = 64;
  std::string frames;
  for (std::uint64_t i = 1; i <= count; ++i) frames += request("/", i);
  std::vector<std::unique_ptr<Haproxy>> greedy;
  for (std::size_t i = 0; i < 2 * Answers::most / count; ++i) {
    greedy.push_back(std::make_unique<Haproxy>(*this));
    greedy.back()->greet();
    greedy.back()->send(frames);
    run();
  }
  EXPECT_LE(store_.outstanding(), Answers::most - Answers::kept + greedy.size());
  Haproxy polite(*this);
  polite.greet();
  polite.send(request("/", 1));
  run();
  complete(store_.outstanding() - 1);
  EXPECT_EQ(polite.receive_frame().value("verdict"), "admitted");
  while (store_.outstanding() > 0) complete();
  for (const auto& each : greedy) {
    for (std::uint64_t i = 1; i <= count; ++i) {
      EXPECT_EQ(each->receive_frame().value("verdict"), "admitted");
    }
  }
}

}  // namespace
}  // namespace headgate::server
