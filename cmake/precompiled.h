// SPDX-License-Identifier: Apache-2.0
// The standard headers most sources include, parsed once a folder. Each source still includes what it uses: builds
// with KINGLET_PRECOMPILE=OFF (presets dev and clang, and what lint reads) would not compile otherwise.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <expected>
#include <filesystem>
#include <format>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>
