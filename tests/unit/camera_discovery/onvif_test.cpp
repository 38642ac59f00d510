// SPDX-License-Identifier: Apache-2.0
// The conversation with a device is in tests/e2e/daemon/cameras_test.py.
#include "camera/discovery/onvif.h"

#include <gtest/gtest.h>

namespace kinglet::camera {
namespace {

// The example of ONVIF's Application Programmer's Guide, 6.1.1.3.
TEST(Onvif, SignsAPasswordAsTheTokenProfileSays) {
  const std::string nonce("\x2C\xAA\x88\xE8\x6F\xC0\x8A\x42\x82\x42\xB3\x74\xCE\xA6\x45\x96", 16);
  EXPECT_EQ(password_digest(nonce, "2010-09-16T07:50:45Z", "userpassword"), "tuOSpGlFlIXsozq4HFNeeGeFLEI=");
}

TEST(Onvif, ACameraWithoutAServiceIsNotAsked) {
  const auto asked = ask_for_stream(
      {.address = "192.168.1.64"}, {},
      [](const auto&, const auto&) -> Result<OnvifAnswer> { return fail(ErrorCode::kInternal, "asked"); });
  EXPECT_EQ(asked.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace kinglet::camera
