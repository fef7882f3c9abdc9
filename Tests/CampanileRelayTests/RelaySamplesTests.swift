import Campanile
import CampanileRelay
import Foundation
import TestSupport
import Testing

/// Messages of one subject, as a program's versions would have them.
private enum Song {
  struct First: RelayedMessage {
    static let relaySubject: RelaySubject<Self> = "song.\(\.title).changed"
    var title = "Aria"
    var parts = [Part(length: 2)]
  }

  struct Part: Codable, Sendable {
    var length: Int
    var name: String? = "one"
  }

  /// Has other fields, and the same version.
  struct Changed: RelayedMessage {
    static let relaySubject: RelaySubject<Self> = "song.\(\.title).changed"
    var title = "Aria"
    var parts = [["length": 2, "height": 5]]
    var isLoud: Bool? = true
  }

  struct Second: RelayedMessage {
    static let relaySubject: RelaySubject<Self> = "song.\(\.title).changed"
    static let relayVersion = 2
    var title = "Aria"
    var isLoud: Bool? = true
  }

  /// Cannot be decoded from what the first version sends.
  struct Incompatible: RelayedMessage {
    static let relaySubject: RelaySubject<Self> = "song.\(\.title).changed"
    static let relayVersion = 3
    var title = "Aria"
    var count = 1
  }

  struct Bytes: RelayedMessage {
    static let relaySubject: RelaySubject<Self> = "song"
    var byte: UInt8

    init(byte: UInt8) { self.byte = byte }

    func relayPayload() -> [UInt8] { [byte] }

    init(relayPayload: [UInt8], version: Int) throws {
      guard relayPayload.count == 1 else { throw CancellationError() }
      byte = relayPayload[0]
    }
  }

  struct Slashes: RelayedMessage {
    static let relaySubject: RelaySubject<Self> = "songs/of.\(\.day).played"
    var day = "today"
  }

  struct OneWay: RelayedMessage {
    static let relaySubject: RelaySubject<Self> = "one.way"
    init() {}
    init(relayPayload: [UInt8], version: Int) throws { throw CancellationError() }
  }
}

@Suite("Samples of relayed messages", .ownThread)
struct RelaySamplesTests {
  @Test("A slash is sent as it is")
  func slash() throws {
    let bytes = try Ring(tower: "http://a/b").relayPayload()
    #expect(String(decoding: bytes, as: UTF8.self).contains("\"http://a/b\""))
  }

  /// Checks a message, and returns what is wrong.
  private func failure(_ message: some RelayedMessage, _ folder: URL) throws -> String? {
    do {
      try RelaySamples(in: folder.path).check(message)
      return nil
    } catch let failure as RelaySamples.Failure {
      return failure.description
    }
  }

  @Test("A sample is written once, which fails, and is then compared")
  func written() async throws {
    try await withFolder { folder in
      let file = folder.appending(path: "song.%.changed.0.json")
      let first = try #require(try failure(Song.First(), folder))
      #expect(first.contains("has been written to \(file.path): commit it"))
      let sample = try Data(contentsOf: file)
      #expect(try JSONDecoder().decode(Song.First.self, from: sample).title == "Aria")
      #expect(try failure(Song.First(), folder) == nil)
      // Values and numbers of elements are not compared.
      let other = Song.First(title: "Bolero", parts: [.init(length: 1), .init(length: 3)])
      #expect(try failure(other, folder) == nil)
      #expect(try Data(contentsOf: file) == sample)
    }
  }

  @Test("Fields that change need a new version")
  func changed() async throws {
    try await withFolder { folder in
      _ = try failure(Song.First(), folder)
      let change = try #require(try failure(Song.First(parts: []), folder))
      #expect(change.contains("missing .parts[] (an object), .parts[].length (a number), "))
      // What is decoded is compared, also where it can be decoded.
      let file = folder.appending(path: "song.%.changed.0.json")
      try Data(#"{"title":"Aria","parts":[{"length":2,"height":5}]}"#.utf8).write(to: file)
      let more = try #require(try failure(Song.Changed(), folder))
      #expect(more.contains("The fields of Changed are not those of song.%.changed.0.json"))
      #expect(more.contains(": new .isLoud (a truth value). Give the type a new relayVersion."))
    }
  }

  @Test("Samples of earlier versions must be decoded, and none may be of a later one")
  func versions() async throws {
    try await withFolder { folder in
      _ = try failure(Song.First(), folder)
      let written = try #require(try failure(Song.Second(), folder))
      #expect(written.contains("no sample of version 2"))
      #expect(!written.contains("decoded"))
      #expect(try failure(Song.Second(), folder) == nil)
      let broken = try #require(try failure(Song.Incompatible(), folder))
      for version in [0, 2] {
        #expect(
          broken.contains(
            "Incompatible can no longer be decoded from song.%.changed.\(version).json"))
      }
      #expect(broken.contains("no sample of version 3"))
      #expect(
        try #require(try failure(Song.Second(), folder)).contains("a version is never lowered"))
    }
  }

  @Test("Bytes that are not JSON are decoded, and no fields are compared")
  func bytes() async throws {
    try await withFolder { folder in
      #expect(try failure(Song.Bytes(byte: 200), folder) != nil)
      #expect(try failure(Song.Bytes(byte: 201), folder) == nil)
      // A file of a longer subject, and others, are no samples of this one.
      for file in ["song.one.0.json", "song.0.text", "song.json"] {
        try Data().write(to: folder.appending(path: file))
      }
      #expect(try failure(Song.Bytes(byte: 200), folder) == nil)
      try Data().write(to: folder.appending(path: "song.0.json"))
      #expect(try #require(try failure(Song.Bytes(byte: 200), folder)).contains("no longer"))
    }
  }

  @Test("The slashes of a subject are escaped in the names of files")
  func slashes() async throws {
    try await withFolder { folder in
      let message = Song.Slashes()
      #expect(try failure(message, folder) != nil)
      #expect(try failure(message, folder) == nil)
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(names == ["songs%2Fof.%.played.0.json"])
    }
  }

  @Test("A message that cannot read what it encodes fails, and no sample is written")
  func oneWay() async throws {
    try await withFolder { folder in
      let failure = try #require(try failure(Song.OneWay(), folder))
      #expect(failure.contains("OneWay cannot read what it encodes"))
      #expect(!FileManager.default.fileExists(atPath: folder.path))
    }
  }

  @Test("The folder is beside the test's file unless said")
  func folder() async throws {
    try await withFolder { folder in
      let samples = RelaySamples(beside: folder.appending(path: "Tests.swift").path)
      #expect(throws: RelaySamples.Failure.self) { try samples.check(Song.Second()) }
      let file = folder.appending(path: "RelaySamples/song.%.changed.2.json")
      #expect(FileManager.default.fileExists(atPath: file.path))
    }
  }
}
