#include "engine/io/safetensors.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

using test::as_bytes;
using test::expect_refused;
using test::le;

const std::string kHeader = R"({"t":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})";
const std::string kData(16, '\0');
constexpr std::size_t kHeaderMemory = std::size_t{1} << 20;

/// A file with this header and data.
std::string container(const std::string& header, const std::string& data) { return le(std::uint64_t{header.size()}) + header + data; }
std::string tensor(const std::string& name, const std::string& shape, const std::string& offsets, const std::string& dtype = "F32") {
    return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

ArrayFile parse_bytes(const std::string& bytes) {
    MemoryInput source(as_bytes(bytes), "bad.safetensors");
    return read_safetensors(source);
}
void bytes_refused(const std::string& label, FileFault fault, const std::string& bytes, std::size_t memory = kHeaderMemory) {
    expect_refused(label, fault, "bad.safetensors", memory, [&] { parse_bytes(bytes); });
}
void header_refused(const std::string& label, FileFault fault, const std::string& header, const std::string& data = kData) {
    bytes_refused(label, fault, container(header, data));
}

TEST(SafetensorsBad, Lengths) {
    bytes_refused("S01", FileFault::Truncated, "");
    bytes_refused("S02", FileFault::Truncated, std::string(7, '\0'));
    bytes_refused("S03", FileFault::Truncated, le(std::uint64_t{0}) + kData);
    bytes_refused("S04", FileFault::Limit, le(~std::uint64_t{0}) + kHeader + kData);
    const std::string whole = container(kHeader, kData);
    bytes_refused("S06", FileFault::Truncated, le(std::uint64_t{whole.size() - 7}) + kHeader + kData, 4096);
    bytes_refused("length 1", FileFault::Truncated, le(std::uint64_t{1}) + "{");
    const test::TemporaryFolder folder;
    const auto path = folder / "bad.safetensors";
    test::put_sparse_file(path, le(std::uint64_t{100'000'001}) + "{", 8 + 100'000'001);
    expect_refused("S05", FileFault::Limit, path.native(), 4096, [&] { read_safetensors(path); });
}

TEST(SafetensorsBad, HeaderText) {
    std::string text = kHeader;
    text[2] = '\xFF';
    header_refused("S07", FileFault::Format, text);
    header_refused("S08", FileFault::Format, "{" + tensor("\xC0\x80", "[2,2]", "[0,16]") + "}");
    header_refused("S09", FileFault::Format, "{" + tensor("\\ud800", "[2,2]", "[0,16]") + "}");
    header_refused("S10", FileFault::Format, "{ ");
    for (const char* top : {"[]", "null", "\"x\"", "12", "true"}) header_refused("S11", FileFault::Format, top, "");
    header_refused("S12", FileFault::Format, "{}x", "");
    header_refused("S12 NUL", FileFault::Format, std::string("{}\0x", 4), "");
    header_refused("S12 byte order mark", FileFault::Format, "\xEF\xBB\xBF{}", "");
    header_refused("S13 comment", FileFault::Format, "{/**/}", "");
    header_refused("S13 comma", FileFault::Format, "{" + tensor("t", "[2,2]", "[0,16]") + ",}");
    header_refused("S13 NaN", FileFault::Format, "{" + tensor("t", "[NaN]", "[0,16]") + "}");
}

TEST(SafetensorsBad, Limits) {
    header_refused("S14", FileFault::Limit, std::string(100'000, '['));
    header_refused("S14 objects", FileFault::Limit, [] {
        std::string nested;
        for (int i = 0; i < 100'000; ++i) nested += "{\"a\":";
        return nested;
    }());
    std::string many = "{";
    for (int i = 0; i < 1'000'000; ++i) many += tensor(std::to_string(i), "[0]", "[0,0]") + ",";
    many.back() = '}';
    bytes_refused("S15", FileFault::Limit, container(many, ""), 2 * many.size() + (std::size_t{32} << 20));
    std::string ones = "[1";
    for (int i = 0; i < 64; ++i) ones += ",1";
    header_refused("S16", FileFault::Limit, "{" + tensor("t", ones + "]", "[0,4]") + "}", "1234");
    for (int i = 0; i < 6'000'000; ++i) ones += ",1";
    bytes_refused("too many values", FileFault::Limit, container("{" + tensor("t", ones + "]", "[0,4]") + "}", "1234"),
                  std::size_t{8} << 20);
    const std::string long_name(std::size_t{1} << 20, 'n');
    bytes_refused("S17", FileFault::Limit, container("{" + tensor(long_name, "[0]", "[0,0]") + "}", ""), std::size_t{16} << 20);
    std::string metadata = R"({"__metadata__":{)";
    for (int i = 0; i < 70'000; ++i) metadata += "\"" + std::to_string(i) + R"(":"",)";
    metadata.back() = '}';
    bytes_refused("metadata entries", FileFault::Limit, container(metadata + "}", ""), std::size_t{16} << 20);
}

TEST(SafetensorsBad, Duplicates) {
    const std::string once = tensor("t", "[2,2]", "[0,16]");
    header_refused("S18", FileFault::Duplicate, "{" + once + "," + once + "}");
    header_refused("S19", FileFault::Duplicate, "{" + once + "," + tensor("t", "[2,2]", "[16,32]") + "}", kData + kData);
    header_refused("S19 escaped", FileFault::Duplicate, "{" + once + "," + tensor("\\u0074", "[2,2]", "[16,32]") + "}", kData + kData);
    header_refused("S20", FileFault::Duplicate, R"({"__metadata__":{},"__metadata__":{},)" + once + "}");
    header_refused("S20 within", FileFault::Duplicate, R"({"__metadata__":{"a":"1","a":"1"},)" + once + "}");
    header_refused("S21", FileFault::Duplicate, R"({"t":{"dtype":"F32","dtype":"F32","shape":[2,2],"data_offsets":[0,16]}})");
}

TEST(SafetensorsBad, Fields) {
    header_refused("S22", FileFault::Format, R"({"t":{"shape":[2,2],"data_offsets":[0,16]}})");
    header_refused("S22", FileFault::Format, R"({"t":{"dtype":"F32","data_offsets":[0,16]}})");
    header_refused("S22", FileFault::Format, R"({"t":{"dtype":"F32","shape":[2,2]}})");
    header_refused("S22 all", FileFault::Format, R"({"t":{}})");
    header_refused("S23", FileFault::Format, R"({"t":{"dtype":null,"shape":[2,2],"data_offsets":[0,16]}})");
    header_refused("S23", FileFault::Format, R"({"t":{"dtype":["F32"],"shape":[2,2],"data_offsets":[0,16]}})");
    for (const char* value : {"null", "\"4\"", "4", "{}", "false"}) {
        header_refused("S23", FileFault::Format, "{" + tensor("t", value, "[0,16]") + "}");
        header_refused("S23", FileFault::Format, "{" + tensor("t", "[2,2]", value) + "}");
        header_refused("S23 entry", FileFault::Format, std::string("{\"t\":") + (value[0] == '{' ? "[]" : value) + "}");
    }
    for (const char* offsets : {"[]", "[0]", "[0,16,16]"})
        header_refused("S24", FileFault::Format, "{" + tensor("t", "[2,2]", offsets) + "}");
    for (const char* value : {"1", "null", "true", "{}", "[]"})
        header_refused("S25", FileFault::Format, std::string(R"({"__metadata__":{"a":)") + value + "}}", "");
    header_refused("S25", FileFault::Format, R"({"__metadata__":"a"})", "");
    header_refused("S26", FileFault::Format, "{" + tensor("__metadata__", "[2,2]", "[0,16]") + "}");
    header_refused("unknown field", FileFault::Format, R"({"t":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16],"x":1}})");
    for (const char* dtype : {"F128", "f32", "", "F8_E4M3", "C64"})
        header_refused("S27", FileFault::Unsupported, "{" + tensor("t", "[2,2]", "[0,16]", dtype) + "}");
    header_refused("S28", FileFault::Unsupported, "{" + tensor("t", "[3]", "[0,1]", "F4") + "}", "1");
}

TEST(SafetensorsBad, Sizes) {
    for (const char* shape :
         {"[-1,2]", "[2.0,2]", "[1e400]", "[true,4]", "[\"2\",2]", "[18446744073709551616]", "[0,18446744073709551615,2]",
          "[18446744073709551615,2,0]", "[null]", "[[2],2]", "[-0.0]", "[-9223372036854775809]"})
        header_refused(std::string("S29-S35 ") + shape, FileFault::Range, "{" + tensor("t", shape, "[0,16]") + "}");
    header_refused("S36", FileFault::Overflow, "{" + tensor("t", "[4294967296,4294967296]", "[0,0]") + "}", "");
    header_refused("S37", FileFault::Overflow, "{" + tensor("t", "[4611686018427387904]", "[0,0]") + "}", "");
    header_refused("S38", FileFault::Overflow, "{" + tensor("t", "[2,9223372036854775807]", "[0,0]") + "}", "");
    header_refused("S39", FileFault::Overflow,
                   "{" + tensor("a", "[9223372036854775744]", "[0,9223372036854775744]", "I8") + "," +
                       tensor("b", "[9223372036854775744]", "[9223372036854775744,18446744073709551488]", "I8") + "}",
                   "");
    header_refused("one axis too long", FileFault::Limit, "{" + tensor("t", "[0,2147483648]", "[0,0]") + "}", "");
}

TEST(SafetensorsBad, Ranges) {
    for (const char* offsets : {"[16,0]", "[0,15]", "[0,17]", "[0,9223372036854775808]", "[18446744073709551600,0]"})
        header_refused(std::string("S40-S43 ") + offsets, FileFault::Range, "{" + tensor("t", "[2,2]", offsets) + "}");
    for (const char* offsets : {"[-16,0]", "[0,16.0]", "[0,1e400]"})
        header_refused(std::string("offset ") + offsets, FileFault::Range, "{" + tensor("t", "[2,2]", offsets) + "}");
    header_refused("S44", FileFault::Range, "{" + tensor("t", "[2,2]", "[4,20]") + "}", "1234" + kData);
    header_refused("S45", FileFault::Range, "{" + tensor("a", "[1]", "[0,4]") + "," + tensor("b", "[1]", "[8,12]") + "}",
                   std::string(12, 'x'));
    header_refused("S46", FileFault::Range, "{" + tensor("a", "[2]", "[0,8]") + "," + tensor("b", "[2]", "[4,12]") + "}",
                   std::string(12, 'x'));
    std::string same = "{";
    for (char name = 'a'; name < 'k'; ++name) same += tensor(std::string(1, name), "[2,2]", "[0,16]") + ",";
    same.back() = '}';
    header_refused("S47", FileFault::Range, same);
    header_refused("S48", FileFault::Range, kHeader, kData + std::string(34, 'x'));
    header_refused("S49", FileFault::Truncated, kHeader, kData.substr(2));
    header_refused("huge and absent", FileFault::Truncated, "{" + tensor("t", "[2147483647]", "[0,8589934588]") + "}", "");
}

TEST(SafetensorsBad, EveryTruncationAndEveryHeaderByte) {
    const std::string whole = container(kHeader, kData);
    for (std::size_t keep = 0; keep < whole.size(); ++keep) EXPECT_THROW(parse_bytes(whole.substr(0, keep)), FileError) << keep;
    // A changed byte gives another valid file or FileError, never any other exception.
    for (std::size_t i = 0; i < whole.size() - kData.size(); ++i)
        for (int bit = 0; bit < 8; ++bit) {
            std::string changed = whole;
            changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
            try {
                EXPECT_EQ(parse_bytes(changed).arrays.size(), 1U);
            } catch (const FileError&) {
            }
        }
}

TEST(SafetensorsBad, Places) {
    const test::TemporaryFolder folder;
    const auto named = [&](const char* label, const std::filesystem::path& path, FileFault fault, const std::string& shown) {
        expect_refused(label, fault, shown, kHeaderMemory, [&] { read_safetensors(path); });
    };
    named("missing", folder / "none.safetensors", FileFault::Io, "none.safetensors");
    named("S54", folder.path(), FileFault::Io, folder.path().native());
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    named("S55", folder / "pipe", FileFault::Io, "pipe");
    named("S56", "/dev/zero", FileFault::Io, "/dev/zero");
    std::filesystem::create_symlink("loop", folder / "loop");
    named("S58", folder / "loop", FileFault::Io, "loop");
    named("S59", folder / "a\xFF\nb", FileFault::Io, "a\\xFF\\x0Ab");
    test::put_file(folder / "a\xFF", container(kHeader, kData));
    EXPECT_EQ(read_safetensors(folder / "a\xFF").arrays.size(), 1U);
    named("NUL", std::string("a\0b", 3), FileFault::Io, "a\\x00b");
    test::put_sparse_file(folder / "sparse", le(std::uint64_t{2}) + "{}", std::uint64_t{8} << 30);
    named("S60", folder / "sparse", FileFault::Memory, "sparse");
}

TEST(SafetensorsBad, UnreadableWithoutPermission) {
    const test::TemporaryFolder folder;
    const auto path = folder / "closed.safetensors";
    test::put_file(path, container(kHeader, kData));
    std::filesystem::permissions(path, std::filesystem::perms::none);
    std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
    const pid_t child = ::fork();  // root can read everything, so use another user in a child
    if (child == 0) {
        if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(3);
        try {
            read_safetensors(path);
            ::_exit(1);
        } catch (const FileError& error) {
            ::_exit(error.fault() == FileFault::Io ? 0 : 2);
        }
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "S57";
}

TEST(SafetensorsBad, ChangesWhileReading) {
    const test::TemporaryFolder folder;
    const auto path = folder / "bad.safetensors";
    test::put_file(path, container(kHeader, kData));
    {
        InputFile source(path);
        std::filesystem::resize_file(path, 70);
        expect_refused("S53 shrinks", FileFault::Io, "bad.safetensors", kHeaderMemory, [&] { read_safetensors(source); });
    }
    test::put_file(path, container(kHeader, kData));
    InputFile source(path);
    read_safetensors(source);
    EXPECT_NO_THROW(source.expect_unchanged());
    test::put_file(path, container(kHeader, kData + "x"));
    EXPECT_THROW(source.expect_unchanged(), FileError);
}

TEST(Safetensors, ReadingStopsWhenAsked) {
    const test::TemporaryFolder folder;
    const auto path = folder / "good.safetensors";
    test::put_file(path, container(kHeader, kData));
    std::stop_source stop;
    stop.request_stop();
    EXPECT_THROW(read_safetensors(path, {.stop = stop.get_token()}), Cancelled);
}

TEST(Safetensors, AcceptsWhatTheFormatAllows) {
    EXPECT_EQ(parse_bytes(container(" \n\t" + kHeader + " \r\n  ", kData)).arrays.size(), 1U) << "V1";
    const ArrayFile reordered = parse_bytes(
        container(R"({"b":{"data_offsets":[4,8],"shape":[1],"dtype":"F32"},"__metadata__":{"k":"v"},)" + tensor("a", "[1]", "[0,4]") + "}",
                  le(1.0F) + le(2.0F)));
    ASSERT_EQ(reordered.arrays.size(), 2U) << "V2";
    EXPECT_EQ(reordered.arrays[0].name, "b");
    EXPECT_EQ(reordered.values<float>("b"), std::vector<float>{2});
    EXPECT_EQ(reordered.values<float>("a"), std::vector<float>{1});
    EXPECT_EQ(reordered.metadata_at("k"), "v");
    const ArrayFile empty = parse_bytes(container(
        "{" + tensor("s", "[]", "[0,4]") + "," + tensor("z", "[2,0]", "[4,4]") + "," + tensor("y", "[0]", "[0,0]") + "}", le(7.0F)));
    EXPECT_EQ(empty.values<float>("s"), std::vector<float>{7}) << "V3";
    EXPECT_EQ(empty.at("z").shape, (std::vector<std::int64_t>{2, 0}));
    EXPECT_TRUE(parse_bytes(container("{}", "")).arrays.empty()) << "V4";
    const ArrayFile unaligned =
        parse_bytes(container("{" + tensor("a", "[1]", "[0,1]", "BOOL") + "," + tensor("b", "[1]", "[1,9]", "F64") + "}", "\1" + le(2.5)));
    EXPECT_EQ(unaligned.values<double>("b"), std::vector<double>{2.5}) << "V5";
    EXPECT_EQ(unaligned.values<std::uint8_t>("a"), std::vector<std::uint8_t>{1}) << "V6";
}

TEST(Safetensors, NamesAreOnlyNames) {
    const std::vector<std::pair<std::string, std::string>> names = {{"", ""},
                                                                    {"%n%s%p", "%n%s%p"},
                                                                    {"a##b", "a##b"},
                                                                    {"x###y", "x###y"},
                                                                    {"../../x", "../../x"},
                                                                    {"/etc/x", "/etc/x"},
                                                                    {"a\\u0000b", std::string("a\0b", 3)},
                                                                    {"\\u202E", "\xE2\x80\xAE"},
                                                                    {"a\\nb", "a\nb"},
                                                                    {std::string(500, 'n'), std::string(500, 'n')},
                                                                    {"注意力", "注意力"}};
    for (const auto& [written, meant] : names) {
        const ArrayFile file = parse_bytes(container("{" + tensor(written, "[2,2]", "[0,16]") + "}", kData));
        ASSERT_EQ(file.arrays.size(), 1U) << "S52 " << written;
        EXPECT_EQ(file.arrays[0].name, meant);
    }
    EXPECT_EQ(escaped(std::string("a\0\n\xFF\xE2\x80\xAE", 7)), "a\\x00\\x0A\\xFF\\u{202E}");
    EXPECT_EQ(escaped(std::string(100, 'n')), std::string(64, 'n') + "…");
}

TEST(Safetensors, NumbersThatAreNotOrdinaryLoadAsTheyAre) {
    const float inf = std::numeric_limits<float>::infinity();
    const ArrayFile file = parse_bytes(container(kHeader, le(std::nanf("")) + le(-inf) + le(1e-40F) + le(1.0F)));
    const std::vector<float> values = file.values<float>("t");
    EXPECT_TRUE(std::isnan(values[0])) << "S51";
    EXPECT_EQ(values[1], -inf);
    EXPECT_EQ(values[2], 1e-40F);
    EXPECT_TRUE(std::isnan(file.values<double>("t")[0]));
}

TEST(Safetensors, WhatIsMissingIsNamed) {
    const ArrayFile file = parse_bytes(container(kHeader, kData));
    expect_refused("S50", FileFault::Schema, "bad.safetensors", kHeaderMemory, [&] { file.at("w"); });
    expect_refused("S50", FileFault::Schema, "bad.safetensors", kHeaderMemory, [&] { file.metadata_at("format"); });
}

TEST(Safetensors, EveryGoldenFileReads) {
    int files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(ATTN_TEST_DATA "/golden")) {
        if (entry.path().extension() != ".safetensors") continue;
        ++files;
        const ArrayFile file = read_safetensors(entry.path());
        EXPECT_EQ(file.metadata_at("format"), "attnscope-case/1") << entry.path();
        for (const NamedArray& array : file.arrays) EXPECT_NO_THROW(values_as<double>(array, file.source));
    }
    EXPECT_GT(files, 0);
}

// --- writing ---------------------------------------------------------------------------------------------------------------

ArrayFile sample_file() {
    ArrayFile file;
    file.metadata = {{"format", "x/1"}, {"текст", "a\"b\\\n"}};
    const std::vector<float> floats = {
        1.5F, -0.0F, std::nanf("7"), std::numeric_limits<float>::denorm_min(), -std::numeric_limits<float>::infinity(), 3};
    const std::vector<std::uint8_t> flags = {1, 0, 1};
    const std::vector<double> doubles = {0.1};
    const std::vector<std::int64_t> integers = {-5, std::numeric_limits<std::int64_t>::max()};
    file.arrays = {make_array<std::uint8_t>("flags", {3}, flags), make_array<float>("floats", {2, 3}, floats),
                   make_array<double>("scalar", {}, doubles), make_array<std::int64_t>("no/such ##name", {2}, integers),
                   make_array<float>("none", {0, 4}, {})};
    file.arrays[0].dtype = DType::Bool;
    return file;
}

TEST(SafetensorsWriter, RoundTripIsBitExact) {
    const test::TemporaryFolder folder;
    const ArrayFile file = sample_file();
    const auto path = folder / "a.safetensors";
    write_safetensors(path, file);
    const ArrayFile back = read_safetensors(path);
    EXPECT_EQ(back.metadata, file.metadata);
    EXPECT_EQ(back.arrays, file.arrays);
    const std::string first = test::file_bytes(path);
    write_safetensors(path, back);
    EXPECT_EQ(test::file_bytes(path), first);
    EXPECT_EQ(folder.entries(), 1);
}

TEST(SafetensorsWriter, RefusesWhatCouldNotBeReadBack) {
    const test::TemporaryFolder folder;
    const auto refuse = [&](const char* label, FileFault fault, const std::function<void(ArrayFile&)>& spoil) {
        ArrayFile file = sample_file();
        spoil(file);
        expect_refused(label, fault, "w.safetensors", kHeaderMemory, [&] { write_safetensors(folder / "w.safetensors", file); });
        EXPECT_EQ(folder.entries(), 0) << label;
    };
    refuse("twice", FileFault::Duplicate, [](ArrayFile& f) { f.arrays[1].name = f.arrays[0].name; });
    refuse("name", FileFault::Format, [](ArrayFile& f) { f.arrays[1].name = "\xFF"; });
    refuse("reserved", FileFault::Format, [](ArrayFile& f) { f.arrays[1].name = "__metadata__"; });
    refuse("metadata", FileFault::Format, [](ArrayFile& f) { f.metadata["a"] = "\xC0\x80"; });
    refuse("bytes", FileFault::Schema, [](ArrayFile& f) { f.arrays[1].bytes.pop_back(); });
    refuse("rank", FileFault::Limit, [](ArrayFile& f) { f.arrays[2].shape.assign(9, 1); });
    refuse("long name", FileFault::Limit, [](ArrayFile& f) { f.arrays[2].name.assign(2000, 'n'); });
}

}  // namespace
}  // namespace attn
