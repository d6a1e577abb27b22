// SPDX-License-Identifier: MIT
// Runs translated kernels (ptx_host.hpp), and finds the translation of a kernel by the symbol at its address.
#include "ptx_host.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>

#include <fstream>
#include <map>
#include <memory>
#include <set>
#include <sstream>

#include "lexformer/core/error.hpp"

namespace ptx_host {
namespace {

struct Kernel {
  Translation code;
  Counts counts;
};
struct Host {
  std::map<std::string, std::map<std::string, Kernel>> sets;  // set -> mangled name -> kernel
  std::set<std::string> twice;                                // different kernels of the same name, in two files
  std::map<const void*, std::string> names;                   // address -> mangled name
  std::set<std::string> launched;
  std::string chosen, message;
  // The running launch.
  Kernel* kernel = nullptr;
  std::vector<std::uint64_t> memory;  // its shared memory
  bool begun = false;                 // whether a thread of the block has started
  uint3 block;
  std::size_t ended = 0;                   // threads of the block
  std::vector<std::uint32_t> warp_counts;  // 4 numbers a warp
};
Host& host() {
  static auto* instance = new Host;  // translations register before main, from any file
  return *instance;
}

std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
  std::string result = status == 0 ? text.get() : name;
  for (const std::string part : {"void ", "lexformer::", "cuda::", "(anonymous namespace)::"})
    for (std::size_t at = 0; (at = result.find(part, at)) != std::string::npos;) result.erase(at, part.size());
  // Up to the parenthesis of the parameters, outside of template arguments.
  int depth = 0;
  for (std::size_t i = 0; i < result.size(); ++i) {
    depth += (result[i] == '<') - (result[i] == '>');
    if (result[i] == '(' && depth == 0) return result.substr(0, i);
  }
  return result;
}

/// The functions of this program that are translated kernels, by address: from the symbol table of its file.
std::map<const void*, std::string> find_names() {
  const char* const path = "/proc/self/exe";
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  const std::string file = out.str();
  const auto at = [&](std::size_t offset, std::size_t bytes) {
    if (offset > file.size() || bytes > file.size() - offset) lexformer::fail_file(path, "is not a complete ELF file");
    return file.data() + offset;
  };
  Elf64_Ehdr header;
  std::memcpy(&header, at(0, sizeof header), sizeof header);
  std::vector<Elf64_Shdr> sections(header.e_shnum);
  std::memcpy(sections.data(), at(header.e_shoff, sections.size() * sizeof(Elf64_Shdr)), sections.size() * sizeof(Elf64_Shdr));
  std::uint64_t base = 0;  // where the program was loaded
  dl_iterate_phdr([](dl_phdr_info* info, std::size_t, void* to) { return *static_cast<std::uint64_t*>(to) = info->dlpi_addr, 1; }, &base);
  std::map<const void*, std::string> names;
  for (const Elf64_Shdr& table : sections) {
    if (table.sh_type != SHT_SYMTAB || table.sh_link >= sections.size()) continue;
    const Elf64_Shdr& strings = sections[table.sh_link];
    const char* const text = at(strings.sh_offset, strings.sh_size);
    for (std::size_t i = 0; i < table.sh_size / sizeof(Elf64_Sym); ++i) {
      Elf64_Sym symbol;
      std::memcpy(&symbol, at(table.sh_offset + i * sizeof symbol, sizeof symbol), sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= strings.sh_size) continue;
      const std::string name = text + symbol.st_name;
      if (host().sets[""].contains(name)) names.emplace(reinterpret_cast<const void*>(base + symbol.st_value), name);
    }
  }
  if (names.empty()) lexformer::fail("ptx", "no translated kernel is in the symbol table of this program; was it stripped?");
  return names;
}

Kernel& find(const void* address) {
  Host& h = host();
  if (h.names.empty()) h.names = find_names();
  const auto name = h.names.find(address);
  if (name == h.names.end()) lexformer::fail("ptx", "there is no translated PTX of the kernel");
  if (h.twice.contains(name->second)) lexformer::fail("ptx", "two files have a kernel ", readable(name->second), "; rename one");
  const auto chosen = h.sets.find(h.chosen);
  if (chosen == h.sets.end()) lexformer::fail("ptx", "there is no set '", h.chosen, "' of translated kernels");
  h.launched.insert(name->second);
  const auto other = chosen->second.find(name->second);
  return other != chosen->second.end() ? other->second : h.sets[""].at(name->second);
}

std::size_t warps() { return (std::size_t{blockDim.x} * blockDim.y * blockDim.z + 31) / 32; }

cudaError_t launch(const cudaLaunchConfig_t& config, std::size_t allowed, const void* address,
                   const std::vector<unsigned char>& parameters) {
  Host& h = host();
  try {
    Kernel& kernel = find(address);
    if (parameters.size() != kernel.code.parameter_bytes)
      lexformer::fail("ptx", "the host passes ", parameters.size(), " bytes of parameters, nvcc expects ", kernel.code.parameter_bytes);
    h.kernel = &kernel;
    ++kernel.counts.launches;
    shared_size = kernel.code.shared_bytes + config.dynamicSmemBytes;
    h.memory.assign(shared_size / 8 + 130, 0);
    shared_begin = reinterpret_cast<unsigned char*>((reinterpret_cast<std::uintptr_t>(h.memory.data()) + 1023) / 1024 * 1024);
    window = {};
    h.begun = false;
    const cudaError_t result = cuda_host::run(config, allowed, [&] { kernel.code.run(parameters.data()); });
    return result;
  } catch (const lexformer::Error& error) {
    return cuda_host::failed(cudaErrorLaunchFailure, error.what());
  }
}

}  // namespace

Registration::Registration(const Translation& translation) {
  Host& h = host();
  cuda_host::launcher = &launch;
  Kernel kernel{translation, {}};
  kernel.counts.kernel = readable(translation.name);
  const std::string name = translation.name;
  // A kernel of a header is the same in each file, unless it or one of its types is in an anonymous namespace.
  if (!h.sets[translation.set].emplace(name, kernel).second && name.find("12_GLOBAL__N_1") != name.npos) h.twice.insert(name);
}

void choose_set(const std::string& set) { host().chosen = set; }
std::size_t translated() { return host().sets[""].size(); }
std::size_t launched() { return host().launched.size(); }

std::vector<Counts> take_counts() {
  std::map<std::string, Counts> counts;  // by readable name
  for (auto& [set, kernels] : host().sets)
    for (auto& [name, kernel] : kernels) {
      if (kernel.counts.launches > 0) counts[kernel.counts.kernel] = kernel.counts;
      kernel.counts = Counts{kernel.counts.kernel};
    }
  std::vector<Counts> list;
  for (const auto& [name, c] : counts) list.push_back(c);
  return list;
}

void fault(const char* what, std::uint64_t address, std::size_t bytes, int line) {
  host().message =
      lexformer::cat("ptx: ", host().kernel->code.file, ":", line, ", block ", blockIdx.x, " ", blockIdx.y, " ", blockIdx.z, " thread ",
                     threadIdx.x, " ", threadIdx.y, " ", threadIdx.z, ": ", what, ", ", bytes, " bytes at 0x", std::hex, address);
  cuda_host::fail_kernel(host().message.c_str());
}

void check_width(uint32_t clamp, uint32_t expected, const char* file, int line) {
  if (clamp == expected) return;
  host().message = lexformer::cat("ptx: ", file, ":", line, ": an exchange in parts of a warp is not known (operand c is ", clamp, ")");
  cuda_host::fail_kernel(host().message.c_str());
}

void find_window(uint64_t address, std::size_t bytes, int line) {
  const auto block = cuda_host::device_block(reinterpret_cast<const void*>(address));
  window = {reinterpret_cast<uint64_t>(block.data), reinterpret_cast<uint64_t>(block.data) + block.bytes};
  if (block.data == nullptr || address + bytes > window.end) {
    window = {};
    fault("access outside of device memory", address, bytes, line);
  }
}

void enter() {
  Host& h = host();
  if (h.begun && h.block.x == blockIdx.x && h.block.y == blockIdx.y && h.block.z == blockIdx.z) return;
  h.begun = true;
  h.block = blockIdx;
  h.ended = 0;
  h.warp_counts.assign(4 * warps(), 0);
  std::memset(shared_begin, 0xFF, shared_size);
}

void leave(const uint64_t (&counted)[2]) {
  Host& h = host();
  const std::size_t thread = threadIdx.x + std::size_t{blockDim.x} * (threadIdx.y + std::size_t{blockDim.y} * threadIdx.z);
  std::uint32_t* const warp = &h.warp_counts[4 * (thread / 32)];
  for (std::size_t i = 0; i < 4; ++i) warp[i] = std::max(warp[i], static_cast<std::uint32_t>(counted[i / 2] >> 32 * (i % 2)));
  if (++h.ended < std::size_t{blockDim.x} * blockDim.y * blockDim.z) return;
  Counts& counts = h.kernel->counts;
  ++counts.blocks;
  for (std::size_t w = 0; w < warps(); ++w) {
    counts.instructions += h.warp_counts[4 * w];
    counts.global_accesses += h.warp_counts[4 * w + 1];
    counts.shared_accesses += h.warp_counts[4 * w + 2];
    counts.matrix_products += h.warp_counts[4 * w + 3];
  }
}

}  // namespace ptx_host
