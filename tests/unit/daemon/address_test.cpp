// SPDX-License-Identifier: Apache-2.0
#include "daemon/values/address.h"

#include <gtest/gtest.h>

namespace kinglet::daemon::http {
namespace {

bool is_home(const char* text) { return is_private(parse_address(text).value()); }

TEST(ParseAddress, ReadsTheFormsOfTheNet) {
  for (const char* text : {"192.168.1.7", "::1", "fe80::1", "2001:db8::5"}) {
    ASSERT_TRUE(parse_address(text)) << text;
    EXPECT_EQ(parse_address(text)->text(), text);
  }
  EXPECT_EQ(parse_address("[::1]")->text(), "::1");
  EXPECT_EQ(parse_address("fe80::1%eth0")->text(), "fe80::1");
}

TEST(ParseAddress, RefusesWhatIsNone) {
  for (const char* text :
       {"", "localhost", "1.2.3", "1.2.3.4.5", "0x7f.1", "127.1", "1.2.3.4:80", "::g", "[", "%", "[]"}) {
    EXPECT_FALSE(parse_address(text)) << text;
  }
}

TEST(ParseAddress, AnIPv4AddressThroughAnIPv6SocketIsAnIPv4Address) {
  EXPECT_EQ(parse_address("::ffff:127.0.0.1"), parse_address("127.0.0.1"));
  EXPECT_TRUE(is_loopback(*parse_address("::ffff:127.0.0.1")));
  EXPECT_FALSE(is_private(*parse_address("::ffff:8.8.8.8")));
}

TEST(Address, HomesArePrivate) {
  for (const char* text : {"127.0.0.1", "127.255.0.9", "::1", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.0.1",
                           "169.254.3.4", "fe80::9", "febf::1", "fc00::1", "fdab::1"}) {
    EXPECT_TRUE(is_home(text)) << text;
  }
}

TEST(Address, TheRestOfTheWorldIsNot) {
  for (const char* text : {"8.8.8.8", "9.255.255.255", "11.0.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255",
                           "192.169.0.0", "126.255.255.255", "128.0.0.0", "169.253.0.1", "100.64.0.1", "0.0.0.0",
                           "2001:db8::1", "fec0::1", "fe00::1", "::", "::2", "64:ff9b::7f00:1"}) {
    EXPECT_FALSE(is_home(text)) << text;
  }
}

TEST(ParseNetwork, ContainsItsAddressesOnly) {
  const Network net = parse_network("10.1.0.0/12").value();
  EXPECT_TRUE(net.contains(*parse_address("10.0.0.0")));
  EXPECT_TRUE(net.contains(*parse_address("10.15.255.255")));
  EXPECT_FALSE(net.contains(*parse_address("10.16.0.0")));
  EXPECT_FALSE(net.contains(*parse_address("::10.1.0.0")));
  EXPECT_TRUE(parse_network("0.0.0.0/0")->contains(*parse_address("8.8.8.8")));
  EXPECT_FALSE(parse_network("192.168.1.2")->contains(*parse_address("192.168.1.3")));
}

TEST(ParseNetwork, RefusesWhatIsNone) {
  for (const char* text : {"", "/8", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/8x", "::/129", "home"}) {
    EXPECT_FALSE(parse_network(text)) << text;
  }
}

TEST(Neighbourhood, AStrangerIsNotLocal) {
  Neighbourhood neighbourhood;
  EXPECT_TRUE(neighbourhood.is_local(*parse_address("192.168.7.7")));
  EXPECT_FALSE(neighbourhood.is_local(*parse_address("8.8.8.8")));
  EXPECT_FALSE(neighbourhood.is_local(*parse_address("2001:db8::1")));
}

TEST(LimitKey, IsAnIpv4AddressOrAnIpv6Network) {
  const auto key = [](const char* text) { return limit_key(*parse_address(text)); };
  EXPECT_NE(key("192.168.1.7"), key("192.168.1.8"));
  EXPECT_EQ(key("192.168.1.7"), key("::ffff:192.168.1.7"));
  EXPECT_EQ(key("2001:db8:1:2:3::4"), key("2001:db8:1:2:ffff::9"));
  EXPECT_NE(key("2001:db8:1:2::1"), key("2001:db8:1:3::1"));
  EXPECT_EQ(key("fe80::1"), key("fe80::2"));
  EXPECT_NE(key("::1"), key("::2")) << "this machine is itself";
}

}  // namespace
}  // namespace kinglet::daemon::http
