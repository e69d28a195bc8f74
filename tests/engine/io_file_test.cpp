#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <optional>
#include <set>

#include "engine/io/atomic_file.hpp"
#include "engine/io/folder_lock.hpp"
#include "engine/io/text_file.hpp"
#include "engine/io/utf8.hpp"
#include "tests/engine/io_support.hpp"

namespace attn {
namespace {

using test::expect_refused;

constexpr std::size_t kFileMemory = std::size_t{1} << 16;

TEST(AtomicFile, ReplacesTheWholeFileOrNothing) {
    const test::TemporaryFolder folder;
    const auto path = folder / "kept.txt";
    test::put_file(path, "old");
    {
        AtomicFile named(path, AtomicFile::Temporary::Named);
        named.write(std::string_view("new and unfinished"));
        EXPECT_EQ(folder.entries(), 2) << "the temporary file stands beside the target";
    }
    EXPECT_EQ(test::file_bytes(path), "old");
    EXPECT_EQ(folder.entries(), 1);
    {
        AtomicFile unnamed(path);
        unnamed.write(std::string_view("new and unfinished"));
        unnamed.flush();
        EXPECT_LE(folder.entries(), 2);
    }
    EXPECT_EQ(test::file_bytes(path), "old");
    EXPECT_EQ(folder.entries(), 1);
    {
        AtomicFile named(path, AtomicFile::Temporary::Named);
        named.write(std::string_view("named"));
        named.commit();
    }
    EXPECT_EQ(test::file_bytes(path), "named");
    EXPECT_EQ(folder.entries(), 1);
    write_whole_file(path, "new");
    EXPECT_EQ(test::file_bytes(path), "new");
    EXPECT_EQ(folder.entries(), 1);
    write_whole_file(path, "");
    EXPECT_EQ(test::file_bytes(path), "");
}

TEST(AtomicFile, KeepsPermissionsAndFollowsFolders) {
    const test::TemporaryFolder folder;
    std::filesystem::create_directory(folder / "real");
    test::put_file(folder / "real" / "a.txt", "old");
    std::filesystem::permissions(folder / "real" / "a.txt", std::filesystem::perms(0640));
    std::filesystem::create_directory_symlink("real", folder / "link");
    write_whole_file(folder / "link" / "a.txt", "new");
    EXPECT_EQ(test::file_bytes(folder / "real" / "a.txt"), "new");
    EXPECT_EQ(std::filesystem::status(folder / "real" / "a.txt").permissions(), std::filesystem::perms(0640));
    const std::string longest(255, 'n');
    write_whole_file(folder / longest, "x");
    EXPECT_EQ(test::file_bytes(folder / longest), "x");
}

TEST(AtomicFile, RefusesWhatIsNotAFile) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const std::filesystem::path& path, const std::string& shown) {
        expect_refused(shown, FileFault::Io, shown, kFileMemory, [&] { write_whole_file(path, "x"); });
    };
    refused(folder.path(), folder.path().native());
    refused(folder.path() / "", folder.path().native());
    refused(folder / "none" / "a.txt", "a.txt");
    refused("", "");
    refused("/dev/full", "/dev/full");
    refused(std::string("a\0b", 3), "a\\x00b");
    std::filesystem::create_symlink("loop", folder / "loop");
    refused(folder / "loop", "loop");
    ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
    refused(folder / "pipe", "pipe");
    EXPECT_EQ(folder.entries(), 2);
}

TEST(AtomicFile, WritesThroughNoLink) {
    const test::TemporaryFolder folder;
    test::put_file(folder / "victim", "precious");
    std::filesystem::create_symlink("victim", folder / "link");
    std::filesystem::create_symlink("absent", folder / "dangling");
    for (const char* name : {"link", "dangling"})  // F9
        expect_refused(name, FileFault::Io, "is a symbolic link", kFileMemory, [&] { write_whole_file(folder / name, "x"); });
    EXPECT_EQ(test::file_bytes(folder / "victim"), "precious");
    EXPECT_FALSE(std::filesystem::exists(folder / "absent"));
    EXPECT_EQ(folder.entries(), 3);

    // A link created after the check is replaced by the file; its target is not touched.
    AtomicFile file(folder / "late");
    std::filesystem::create_symlink("victim", folder / "late");
    file.write(std::string_view("new"));
    file.commit();
    EXPECT_FALSE(std::filesystem::is_symlink(folder / "late"));
    EXPECT_EQ(test::file_bytes(folder / "late"), "new");
    EXPECT_EQ(test::file_bytes(folder / "victim"), "precious");
}

/// The temporary file beside the target.
std::filesystem::path temporary_in(const test::TemporaryFolder& folder) {
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
        if (entry.path().extension() == ".tmp") return entry.path();
    return {};
}

TEST(AtomicFile, HasANameThatNobodyGuesses) {
    const test::TemporaryFolder folder;
    std::set<std::string> names;
    for (int i = 0; i < 100; ++i) {
        const AtomicFile file(folder / "a.txt", AtomicFile::Temporary::Named);
        const std::string name = temporary_in(folder).filename().string();
        EXPECT_EQ(name.size(), std::string(".attnscope-").size() + 32 + std::string(".tmp").size()) << name;
        names.insert(name);
    }
    EXPECT_EQ(names.size(), 100U);
}

TEST(AtomicFile, GivesAFileASecondName) {
    const test::TemporaryFolder folder;
    test::put_file(folder / "new", "new");
    test::put_file(folder / "previous", "old");
    {
        const AtomicFile dropped(folder / "previous", SecondNameOf{folder / "new"});
        EXPECT_EQ(test::file_bytes(folder / "previous"), "old");
    }
    for (int i = 0; i < 2; ++i) {  // the second time they are the same file already
        AtomicFile(folder / "previous", SecondNameOf{folder / "new"}).commit();
        EXPECT_EQ(test::file_bytes(folder / "previous"), "new");
        EXPECT_EQ(folder.entries(), 2);
    }
    write_whole_file(folder / "new", "newer");
    EXPECT_EQ(test::file_bytes(folder / "previous"), "new");
    EXPECT_THROW(AtomicFile(folder / "previous", SecondNameOf{folder / "absent"}).commit(), FileError);
    EXPECT_EQ(folder.entries(), 2);
}

TEST(AbandonedFiles, AreThoseOfDeadWriters) {
    const test::TemporaryFolder folder;
    test::put_file(folder / "victim", "precious");
    std::filesystem::create_symlink("victim", folder / ".attnscope-link.tmp");
    test::put_file(folder / "notes.tmp", "mine");
    const pid_t child = ::fork();
    if (child == 0) {
        AtomicFile file(folder / "a.txt", AtomicFile::Temporary::Named);
        ::_exit(0);  // as if killed, without cleanup
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(folder.entries(), 4);
    {
        AtomicFile alive(folder / "b.txt", AtomicFile::Temporary::Named);
        alive.write(std::string_view("alive"));
        EXPECT_EQ(folder.entries(), 5);
        remove_abandoned_files(folder.path());
        EXPECT_EQ(folder.entries(), 4) << "only that of the dead one";
        alive.commit();
    }
    EXPECT_EQ(test::file_bytes(folder / "b.txt"), "alive");
    EXPECT_EQ(test::file_bytes(folder / "victim"), "precious");
    EXPECT_TRUE(std::filesystem::exists(folder / "notes.tmp"));
    remove_abandoned_files(folder / "no such folder");
}

/// Where the file system has files without a name; elsewhere the test above holds.
TEST(AbandonedFiles, AreNotLeftByFilesWithoutAName) {
    const test::TemporaryFolder folder;
    {
        const AtomicFile probe(folder / "probe");
        if (folder.entries() > 0) GTEST_SKIP() << "every file has a name here";
    }
    const pid_t child = ::fork();
    if (child == 0) {
        AtomicFile file(folder / "a.txt");
        file.write(std::string(1 << 20, 'x'));
        file.flush();
        ::_exit(0);  // as if killed
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(folder.entries(), 0);
    AtomicFile file(folder / "a.txt");
    file.write(std::string_view("whole"));
    remove_abandoned_files(folder.path());
    file.commit();
    EXPECT_EQ(test::file_bytes(folder / "a.txt"), "whole");
    EXPECT_EQ(folder.entries(), 1);
}

TEST(FolderLock, LetsOneInAtATime) {
    const test::TemporaryFolder folder;
    std::optional<FolderLock> first(std::in_place, folder.path());
    expect_refused("held", FileFault::Io, folder.path().native(), kFileMemory, [&] { FolderLock second(folder.path()); });
    EXPECT_EQ(folder.entries(), 0) << "a lock is no file";
    first.reset();
    EXPECT_NO_THROW(FolderLock second(folder.path()));
    // A lock is released when its process is killed.
    const pid_t child = ::fork();
    if (child == 0) {
        const FolderLock held(folder.path());
        ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_NO_THROW(FolderLock third(folder.path()));
    expect_refused("missing", FileFault::Io, "none", kFileMemory, [&] { FolderLock lock(folder / "none"); });
    test::put_file(folder / "file", "");
    expect_refused("file", FileFault::Io, "file", kFileMemory, [&] { FolderLock lock(folder / "file"); });
}

TEST(AtomicFile, AFullDiskLeavesTheOldFile) {
    const test::TemporaryFolder folder;
    const auto path = folder / "kept.txt";
    test::put_file(path, "old");
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = std::signal(SIGXFSZ, SIG_IGN);
    rlimit small = before;
    small.rlim_cur = 1000;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::string contents(5000, 'x');
    expect_refused("F7", FileFault::Io, "kept.txt", kFileMemory, [&] { write_whole_file(path, contents); });
    ::setrlimit(RLIMIT_FSIZE, &before);
    std::signal(SIGXFSZ, handler);
    EXPECT_EQ(test::file_bytes(path), "old");
    EXPECT_EQ(folder.entries(), 1);
}

TEST(AtomicFile, AReadOnlyFolderIsSaidAtOnce) {
    const test::TemporaryFolder folder;
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0555));
    const pid_t child = ::fork();  // F10: root can write anywhere, so use another user in a child
    if (child == 0) {
        if (::getuid() == 0 && ::setuid(65534) != 0) ::_exit(3);
        try {
            write_whole_file(folder / "a.txt", "x");
            ::_exit(1);
        } catch (const FileError& error) {
            ::_exit(error.fault() == FileFault::Io ? 0 : 2);
        }
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
}

TEST(TextFile, ReadsText) {
    const test::TemporaryFolder folder;
    const auto read = [&](std::string_view bytes) {
        test::put_file(folder / "a.txt", bytes);
        return read_text_file(folder / "a.txt");
    };
    EXPECT_EQ(read("").text, "") << "T01";
    EXPECT_EQ(read("x").text, "x") << "T02";
    EXPECT_EQ(read("\xEF\xBB\xBFhé\n").text, "hé\n") << "T08";
    const TextFile ends = read("a\r\nb\rc\n\r\n\r");
    EXPECT_EQ(ends.text, "a\nb\nc\n\n\n") << "T08";
    EXPECT_EQ(ends.notes.size(), 1U);
    EXPECT_TRUE(read("a\nb").notes.empty());
    const TextFile stray = read("ab\xFF\xC3");
    EXPECT_EQ(stray.text, "ab\xFF\xC3") << "T04";
    ASSERT_EQ(stray.notes.size(), 1U);
    EXPECT_NE(stray.notes[0].find("2 bytes are not UTF-8, the first at byte 2"), std::string::npos) << stray.notes[0];
}

TEST(TextFile, RefusesWhatIsNoText) {
    const test::TemporaryFolder folder;
    const auto refused = [&](const char* label, FileFault fault, std::string_view bytes) {
        test::put_file(folder / "bad.txt", bytes);
        expect_refused(label, fault, "bad.txt", kFileMemory, [&] { read_text_file(folder / "bad.txt"); });
    };
    refused("T03", FileFault::Format, std::string_view("ab\0c", 4));
    refused("T05", FileFault::Unsupported,
            std::string_view("\xFF\xFE"
                             "a\0",
                             4));
    refused("T05", FileFault::Unsupported, std::string_view("\xFE\xFF\0a", 4));
    refused("UTF-32", FileFault::Unsupported, std::string_view("\xFF\xFE\0\0a\0\0\0", 8));
    for (const std::uint64_t size : {std::uint64_t{1} << 30, (std::uint64_t{4} << 30) + 1}) {
        test::put_sparse_file(folder / "bad.txt", "text", size);
        expect_refused("T06, T07", FileFault::Limit, "bad.txt", kFileMemory, [&] { read_text_file(folder / "bad.txt"); });
    }
    expect_refused("missing", FileFault::Io, "none.txt", kFileMemory, [&] { read_text_file(folder / "none.txt"); });
}

TEST(Utf8, KnowsEveryCodePointAndNothingElse) {
    const auto encode = [](char32_t c) {
        std::string out;
        if (c < 0x80) return std::string(1, static_cast<char>(c));
        const int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
        out += static_cast<char>((0xFF00U >> static_cast<unsigned>(more + 1)) | (c >> static_cast<unsigned>(6 * more)));
        for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80U | ((c >> static_cast<unsigned>(6 * i)) & 0x3FU));
        return out;
    };
    for (char32_t c = 0; c <= 0x10FFFF + 5; ++c) {
        const std::string bytes = encode(c);
        const Utf8Unit unit = first_utf8(bytes);
        const bool expected = c <= 0x10FFFF && !(c >= 0xD800 && c <= 0xDFFF);
        ASSERT_EQ(unit.valid, expected) << static_cast<unsigned>(c);
        if (expected) {
            ASSERT_EQ(unit.code_point, c);
            ASSERT_EQ(unit.bytes, bytes.size());
            for (std::size_t keep = 1; keep < bytes.size(); ++keep) ASSERT_FALSE(first_utf8(std::string_view(bytes).substr(0, keep)).valid);
        }
    }
    for (const char* overlong : {"\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xE0\x9F\xBF", "\xF0\x80\x80\x80", "\xF0\x8F\xBF\xBF"})
        EXPECT_FALSE(first_utf8(overlong).valid);
}

}  // namespace
}  // namespace attn
