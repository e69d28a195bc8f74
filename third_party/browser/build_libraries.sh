#!/usr/bin/env bash
# Builds the libraries in /home/page/sources for WebAssembly, into /home/page. Runs inside the root that make_root.sh makes.
set -euo pipefail
prefix=/home/page
sources=$prefix/sources
flags="-O2 -fwasm-exceptions -msimd128 -pthread"
mkdir -p $prefix/{build,lib/pkgconfig,include}

# zlib's own build also makes and installs programs; the library is these files.
zlib() {
    local folder parts=(adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast inflate inftrees trees uncompr zutil)
    folder=$(echo $sources/zlib-*/)
    mkdir -p $prefix/build/zlib
    parts=("${parts[@]/%/.c}")
    (cd $prefix/build/zlib && emcc $flags -DHAVE_UNISTD_H -c "${parts[@]/#/$folder}" && emar rcs $prefix/lib/libz.a ./*.o)
    cp "$folder"/z{lib,conf}.h $prefix/include
    # libzip's own file asks for this one.
    printf 'Name: zlib\nDescription: zlib\nVersion: 1\nLibs: -L%s/lib -lz\nCflags: -I%s/include\n' $prefix $prefix \
        >$prefix/lib/pkgconfig/zlib.pc
}

# with_cmake FOLDER OPTION...
with_cmake() {
    local folder
    folder=$(echo $sources/$1-*/)
    emcmake cmake -S "$folder" -B $prefix/build/"$1" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POLICY_VERSION_MINIMUM=3.5 \
        -DCMAKE_C_FLAGS="$flags" -DCMAKE_CXX_FLAGS="$flags" -DCMAKE_INSTALL_PREFIX=$prefix -DCMAKE_FIND_ROOT_PATH=$prefix \
        -DBUILD_SHARED_LIBS=OFF "${@:2}"
    cmake --build $prefix/build/"$1" --target install -- -j2
}

without=(BZIP2 LZMA ZSTD GNUTLS OPENSSL MBEDTLS COMMONCRYPTO WINDOWS_CRYPTO)
without=("${without[@]/#/-DENABLE_}")
zlib
with_cmake libpng1.6 -DPNG_SHARED=OFF -DPNG_TESTS=OFF -DPNG_EXECUTABLES=OFF -DM_LIBRARY=
with_cmake libzip "${without[@]/%/=OFF}" -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
with_cmake libonig -DENABLE_POSIX_API=OFF
with_cmake utf8proc -DUTF8PROC_ENABLE_TESTING=OFF
with_cmake fmtlib -DFMT_TEST=OFF -DFMT_DOC=OFF
