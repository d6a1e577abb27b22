# SPDX-License-Identifier: MIT
"""Builds the two-file program of this folder in each way that a user can choose, and runs it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CXX = os.environ.get("CXX", "g++")
CMAKE = os.environ.get("CMAKE_COMMAND", "cmake")
BUILD = Path(os.environ.get("LEXFORMER_BIN", ROOT / "build/release/bin")).parent
if shutil.which("ccache"):
    os.environ.setdefault("CMAKE_CXX_COMPILER_LAUNCHER", "ccache")
VERSION = re.search(r'LEXFORMER_VERSION "(.*)"', (ROOT / "include/lexformer/version.hpp").read_text()).group(1)


def run(*command, expected=0):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if (done.returncode != 0) != (expected != 0):
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\nexit code {done.returncode}")
    return done.stdout


def expect(condition, *what):
    if not condition:
        sys.exit(" ".join(map(str, what)))


def configure(source, build, *options, expected=0):
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    return run(CMAKE, "-S", source, "-B", build, *generator, f"-DCMAKE_CXX_COMPILER={CXX}", "-DFETCHCONTENT_FULLY_DISCONNECTED=ON", *options,
               expected=expected)


def cmake(source, build, *options, target="all"):
    said = configure(source, build, *options)
    run(CMAKE, "--build", build, "--target", target)
    return said


def warns_of_no_build_type(said):
    return "CMAKE_BUILD_TYPE is not set" in " ".join(said.split())


def expect_program(program):
    output = run(program)
    if output != f"lexformer {VERSION}: 134\n":
        sys.exit(f"{program} printed {output!r}")


def add_subdirectory(work):
    said = cmake(HERE / "add_subdirectory", work, f"-DLEXFORMER_ROOT={ROOT}")
    expect(warns_of_no_build_type(said), "add_subdirectory without a build type:", said)
    expect_program(work / "consumer")


def fetch_content(work):
    said = cmake(HERE / "fetch_content", work, f"-DFETCHCONTENT_SOURCE_DIR_LEXFORMER={ROOT}", "-DCMAKE_BUILD_TYPE=Debug")
    expect(not warns_of_no_build_type(said), "fetch_content with a build type:", said)
    expect_program(work / "consumer")


def install_headers(work, prefix):
    """As README says, with every option as it is: nothing is compiled, and the build type is Release."""
    configure(ROOT, work, f"-DCMAKE_INSTALL_PREFIX={prefix}")
    expect("CMAKE_BUILD_TYPE:STRING=Release" in (work / "CMakeCache.txt").read_text(), "the build type of lexformer alone is not Release")
    start = time.monotonic()
    run(CMAKE, "--build", work, "--target", "install")
    seconds = time.monotonic() - start
    built = [path for path in work.rglob("*.o") if "CMakeScratch" not in path.parts and "CMakeTmp" not in path.parts]
    expect(not built and not list(prefix.rglob("*.a")), "the headers' installation compiled something:", built)
    print(f"the headers were installed in {seconds:.1f} s")


def find_package(work, prefix):
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLEXFORMER_VERSION={VERSION}"]
    said = cmake(HERE / "find_package", work / "headers", *options)
    expect(warns_of_no_build_type(said), "find_package without a build type:", said)
    expect_program(work / "headers/consumer")
    for component, message in [("compiled", "configure lexformer with -DLEXFORMER_INSTALL_COMPILED=ON"), ("tea", "no component 'tea'; expected native, compiled or cuda")]:
        said = " ".join(configure(HERE / "find_package", work / component, *options, f"-DCOMPONENT={component}", expected=1).split())
        expect(message in said, "find_package of a component that is not installed:", said)


def compiled(work, prefix):
    """The installation with compiled libraries and the program, from the build folder of these tests if it can be installed so."""
    cache = BUILD / "CMakeCache.txt"
    text = cache.read_text() if cache.exists() else ""
    if not all(f"{option}:BOOL=ON" in text for option in ("LEXFORMER_INSTALL_COMPILED", "LEXFORMER_INSTALL_PROGRAMS")):
        print("compiled: left out; it needs -DLEXFORMER_INSTALL_COMPILED=ON -DLEXFORMER_INSTALL_PROGRAMS=ON (tools/test.sh release sets them)")
        return
    run(CMAKE, "--install", BUILD, "--prefix", prefix)
    expect(run(prefix / "bin/lexformer", "--version").startswith(f"lexformer {VERSION} (matrix products: "), "lexformer does not run")
    expect("usage: " in run(sys.executable, prefix / "bin/lexformer-convert_hf", "--help"), "lexformer-convert_hf does not run")
    expect("lexformer tokenize" in (prefix / "share/man/man1/lexformer-tokenize.1").read_text().replace("\\", ""), "there is no manual page")
    expect("tokenize" in (prefix / "share/bash-completion/completions/lexformer").read_text(), "there is no completion")
    cmake(HERE / "find_package", work, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLEXFORMER_VERSION={VERSION}", "-DCOMPONENT=compiled")
    expect_program(work / "consumer")


def plain_compiler(work):
    said = run(CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-pthread", "-DALL_HEADERS", f"-I{ROOT}/include", "-I/usr/include/eigen3",
               HERE / "main.cpp", HERE / "other.cpp", "-o", work / "plain")
    expect(not said, "a compiler without options for the processor should say nothing:", said)
    expect_program(work / "plain")


def pkg_config(work, prefix):
    if not shutil.which("pkg-config"):
        print("pkg-config: not installed, left out")
        return
    folders = [prefix / "share/pkgconfig", prefix / "lib/pkgconfig"]
    os.environ["PKG_CONFIG_PATH"] = ":".join(map(str, folders))
    flags = run("pkg-config", "--cflags", "--libs", f"lexformer = {VERSION}").split()
    expect("-pthread" in flags, "pkg-config's flags", "-pthread", flags)
    expect("-march=native" in (prefix / "share/pkgconfig/lexformer.pc").read_text(), "lexformer.pc does not say that it gives no -march")
    run(CXX, "-std=c++20", HERE / "main.cpp", HERE / "other.cpp", *flags, "-o", work / "pkg_config")
    expect_program(work / "pkg_config")


def installed(work, prefix):
    install_headers(work / "install", prefix)
    find_package(work / "find_package", prefix)
    pkg_config(work, prefix)


def main():
    with tempfile.TemporaryDirectory(prefix="lexformer-consumer-") as folder:
        work = Path(folder)
        with ThreadPoolExecutor(2) as pool:
            ways = [pool.submit(installed, work, work / "prefix"), pool.submit(compiled, work / "compiled", work / "prefix-compiled"),
                    pool.submit(add_subdirectory, work / "add_subdirectory"),
                    pool.submit(fetch_content, work / "fetch_content"), pool.submit(plain_compiler, work)]
        for way in ways:
            way.result()
    print("add_subdirectory, FetchContent, find_package with and without `compiled`, plain compiler and pkg-config: all build and run")


main()
