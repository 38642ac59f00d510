// SPDX-License-Identifier: Apache-2.0
// Why: processors with AVX2 and nothing more have kernels of their own, and machines that build are seldom such. Loaded
// into a program by LD_PRELOAD: where the program's CPUID instructions were replaced by UD2 (avx2_alone.py), it is told
// what the processor has, without AVX-512, AVX-VNNI and AMX.
#include <cpuid.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdint>

namespace {

constexpr unsigned bits(auto... of) { return ((1U << static_cast<unsigned>(of)) | ...); }
// Of leaf 7, after Intel's Software Developer's Manual, volume 2A, CPUID: of its subleaf 0, and of 1.
constexpr unsigned kHiddenInEbx = bits(16, 17, 21, 26, 27, 28, 30, 31);
constexpr unsigned kHiddenInEcx = bits(1, 6, 11, 12, 14);
constexpr unsigned kHiddenInEdx = bits(2, 3, 8, 22, 23, 24, 25);
constexpr unsigned kHiddenInEaxOfOne = bits(4, 5);

void tell(int signal, siginfo_t* /*info*/, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const auto* code = reinterpret_cast<const std::uint8_t*>(registers[REG_RIP]);
  if (code[0] != 0x0F || code[1] != 0x0B) {  // another one: it ends the program when it comes again
    ::signal(signal, SIG_DFL);
    return;
  }
  const auto leaf = static_cast<unsigned>(registers[REG_RAX]);
  const auto subleaf = static_cast<unsigned>(registers[REG_RCX]);
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  __cpuid_count(leaf, subleaf, eax, ebx, ecx, edx);
  if (leaf == 7 && subleaf == 0) {
    ebx &= ~kHiddenInEbx;
    ecx &= ~kHiddenInEcx;
    edx &= ~kHiddenInEdx;
  } else if (leaf == 7 && subleaf == 1) {
    eax &= ~kHiddenInEaxOfOne;
  }
  registers[REG_RAX] = eax;
  registers[REG_RBX] = ebx;
  registers[REG_RCX] = ecx;
  registers[REG_RDX] = edx;
  registers[REG_RIP] += 2;
}

// Before the first CPUID of any other library: linked with -z initfirst.
[[gnu::constructor]] void listen() {
  struct sigaction action{};
  action.sa_sigaction = tell;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
}

}  // namespace
