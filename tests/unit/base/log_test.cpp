// SPDX-License-Identifier: Apache-2.0
#include "engine/base/log.h"

#include <gtest/gtest.h>

namespace kinglet {
namespace {

TEST(WithoutLogins, HidesLoginsWithinAddresses) {
  EXPECT_EQ(without_logins("mjpeg:http://a:b@host/x"), "mjpeg:http://***@host/x");
  EXPECT_EQ(without_logins("exec:ffmpeg -i rtsp://u:p@ss@h:554/1 -y ftp://q:r@s"),
            "exec:ffmpeg -i rtsp://***@h:554/1 -y ftp://***@s");
  EXPECT_EQ(without_logins("http://host/a@b"), "http://host/a@b");
  EXPECT_EQ(without_logins("http://host?x=a@b"), "http://host?x=a@b");
  EXPECT_EQ(without_logins("://"), "://");
  EXPECT_EQ(without_logins("://@"), "://***@");
}

}  // namespace
}  // namespace kinglet
