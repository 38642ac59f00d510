// SPDX-License-Identifier: Apache-2.0
#include "engine/base/loaded_library.h"

#include <gtest/gtest.h>
#include <unistd.h>

extern "C" int kinglet_is_in_no_library();

namespace kinglet {
namespace {

struct StandardLibrary : LoadedLibrary {
  static constexpr const char* kSoname = "libc.so.6";
  static constexpr const char* kPackage = "libc6";
  StandardLibrary() : LoadedLibrary(kSoname) {}
  KINGLET_LOADED(process, getpid);
};

struct NewerLibrary : StandardLibrary {
  KINGLET_LOADED(none, kinglet_is_in_no_library);
};

struct MissingLibrary : LoadedLibrary {
  static constexpr const char* kSoname = "libkinglet_has_no_such.so.1";
  static constexpr const char* kPackage = "no-such";
  MissingLibrary() : LoadedLibrary(kSoname) {}
};

TEST(LoadedLibrary, HasTheFunctionsOfItsRowsAndIsLoadedOnce) {
  const auto library = loaded_library<StandardLibrary>();
  ASSERT_TRUE(library);
  EXPECT_EQ((*library)->process(), ::getpid());
  EXPECT_EQ(*loaded_library<StandardLibrary>(), *library);
}

TEST(LoadedLibrary, ThatIsMissingIsToldWithWhatToInstall) {
  const auto library = loaded_library<MissingLibrary>();
  ASSERT_FALSE(library);
  EXPECT_EQ(library.error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(library.error().message, "libkinglet_has_no_such.so.1 is not installed");
  EXPECT_EQ(library.error().hint, "apt install no-such");
}

TEST(LoadedLibrary, WithoutOneOfTheFunctionsIsOfNoUse) { EXPECT_FALSE(loaded_library<NewerLibrary>()); }

}  // namespace
}  // namespace kinglet
