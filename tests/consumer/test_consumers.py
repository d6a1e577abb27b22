# SPDX-License-Identifier: MIT
"""Builds the two-file program of this folder in each way that a user can choose, and runs it."""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CXX = os.environ.get("CXX", "g++")
CMAKE = os.environ.get("CMAKE_COMMAND", "cmake")
VERSION = re.search(r'LEXFORMER_VERSION "(.*)"', (ROOT / "include/lexformer/version.hpp").read_text()).group(1)


def run(*command):
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\nexit code {done.returncode}")
    return done.stdout


def cmake(source, build, *options, target="all"):
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    run(CMAKE, "-S", source, "-B", build, *generator, f"-DCMAKE_CXX_COMPILER={CXX}", "-DFETCHCONTENT_FULLY_DISCONNECTED=ON", *options)
    run(CMAKE, "--build", build, "--target", target)


def expect_program(program):
    output = run(program)
    if output != f"lexformer {VERSION}: 134\n":
        sys.exit(f"{program} printed {output!r}")


def add_subdirectory(work):
    cmake(HERE / "add_subdirectory", work, f"-DLEXFORMER_ROOT={ROOT}")
    expect_program(work / "consumer")


def fetch_content(work):
    cmake(HERE / "fetch_content", work, f"-DFETCHCONTENT_SOURCE_DIR_LEXFORMER={ROOT}")
    expect_program(work / "consumer")


def install(work, prefix):
    cmake(ROOT, work, "-DLEXFORMER_TESTS=OFF", "-DLEXFORMER_EXAMPLES=OFF", f"-DCMAKE_INSTALL_PREFIX={prefix}", target="install")


def find_package(work, prefix):
    cmake(HERE / "find_package", work, f"-DCMAKE_PREFIX_PATH={prefix}", f"-DLEXFORMER_VERSION={VERSION}")
    expect_program(work / "consumer")
    expect_program(work / "consumer_compiled")


def plain_compiler(work):
    run(CXX, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-fopenmp", f"-I{ROOT}/include", "-I/usr/include/eigen3",
        HERE / "main.cpp", HERE / "other.cpp", "-o", work / "plain")
    expect_program(work / "plain")


def pkg_config(work, prefix):
    if not shutil.which("pkg-config"):
        print("pkg-config: not installed, left out")
        return
    folders = [prefix / "share/pkgconfig", prefix / "lib/pkgconfig"]
    os.environ["PKG_CONFIG_PATH"] = ":".join(map(str, folders))
    flags = run("pkg-config", "--cflags", "--libs", f"lexformer = {VERSION}").split()
    run(CXX, "-std=c++20", HERE / "main.cpp", HERE / "other.cpp", *flags, "-o", work / "pkg_config")
    expect_program(work / "pkg_config")


def installed(work, prefix):
    install(work / "install", prefix)
    find_package(work / "find_package", prefix)
    pkg_config(work, prefix)


def main():
    with tempfile.TemporaryDirectory(prefix="lexformer-consumer-") as folder:
        work = Path(folder)
        with ThreadPoolExecutor(2) as pool:
            ways = [pool.submit(installed, work, work / "prefix"), pool.submit(add_subdirectory, work / "add_subdirectory"),
                    pool.submit(fetch_content, work / "fetch_content"), pool.submit(plain_compiler, work)]
        for way in ways:
            way.result()
    print("add_subdirectory, FetchContent, find_package, plain compiler and pkg-config: all build and run")


main()
