#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Encoded samples of relayed messages, one for each version, kept in the sender's repository.
///
/// Check each type in a test:
///
/// ```swift
/// @Test("TrackChanged of earlier versions is understood")
/// func samples() throws {
///   try RelaySamples().check(TrackChanged(title: "Aria"))
/// }
/// ```
///
/// The first check of a version writes the sample, and fails, so that you commit the sample. From
/// then on, the test fails if the program can no longer decode an earlier version, or if the fields
/// change and the version does not.
public struct RelaySamples: Sendable {
  /// The reason why a check failed.
  public struct Failure: Error, Sendable, CustomStringConvertible {
    /// A description of each problem and its remedy, in one or more sentences per sample.
    public let description: String
  }

  private let folder: String

  /// Uses the samples in a folder.
  ///
  /// - Parameter folder: Its path. It is created with the first sample.
  public init(in folder: String) { self.folder = folder }

  /// Uses the samples in the folder `RelaySamples` next to a source file.
  ///
  /// - Parameter file: The path of the file. The default is the caller's file.
  public init(beside file: String = #filePath) {
    folder = URL(filePath: file).deletingLastPathComponent().appending(path: "RelaySamples").path
  }

  /// Checks that the samples of a message's type can be decoded, and that its fields match the
  /// sample of its version.
  ///
  /// The sample of version 2 of `player.track.changed` is `player.track.changed.2.json`. In the
  /// file name, a key path of the relay subject becomes a percent sign, and a slash becomes `%2F`.
  /// If the bytes are JSON, the check compares the names of the fields at each depth, and their
  /// kinds, such as text or number.
  ///
  /// - Parameter message: A message with a value in each field. Pass the same fields in each check
  ///   of a version, because an optional field that is `nil` is not encoded.
  /// - Throws: A ``Failure`` if a sample doesn't match, or if this version had no sample, which the
  ///   check has then written. Also errors of the encoder and the file system.
  public func check<M: RelayedMessage>(_ message: M) throws {
    let bytes = try message.relayPayload()
    var problems: [String] = []
    if let problem = decodingProblem(M.self, bytes, M.relayVersion) {
      throw Failure(description: "\(M.self) cannot read what it encodes: \(problem)")
    }
    let samples = try samples(of: M.self)
    for (version, file) in samples.sorted(by: { $0.key < $1.key }) {
      let sample = [UInt8](try Data(contentsOf: URL(filePath: "\(folder)/\(file)")))
      if version > M.relayVersion {
        problems.append(
          "There is a sample \(file), and the relayVersion of \(M.self) is \(M.relayVersion): a "
            + "version is never lowered.")
      } else if let problem = decodingProblem(M.self, sample, version) {
        problems.append(
          "\(M.self) can no longer be decoded from \(file): \(problem). Make a new field optional, "
            + "or give it a default, and go on reading what has been removed or renamed.")
      } else if version == M.relayVersion, let change = Self.change(from: sample, to: bytes) {
        problems.append(
          "The fields of \(M.self) are not those of \(file): \(change). Give the type a new "
            + "relayVersion.")
      }
    }
    if samples[M.relayVersion] == nil {
      let file = "\(name(of: M.self)).\(M.relayVersion).json"
      try FileManager.default.createDirectory(
        atPath: folder, withIntermediateDirectories: true)
      try Data(bytes).write(to: URL(filePath: "\(folder)/\(file)"))
      problems.append(
        "There was no sample of version \(M.relayVersion) of \(M.self). It has been written to "
          + "\(folder)/\(file): commit it, and run the test again.")
    }
    if !problems.isEmpty { throw Failure(description: problems.joined(separator: "\n")) }
  }

  // MARK: Files

  /// The relay subject as a name of a file; no part that is written has a percent sign.
  private func name<M: RelayedMessage>(of type: M.Type) -> String {
    M.relaySubject.pattern(where: [:]).replacing("*", with: "%").replacing("/", with: "%2F")
  }

  /// The names of the samples of a type, by version.
  private func samples<M: RelayedMessage>(of type: M.Type) throws -> [Int: String] {
    if !FileManager.default.fileExists(atPath: folder) { return [:] }
    let prefix = name(of: type) + "."
    return try FileManager.default.contentsOfDirectory(atPath: folder).reduce(into: [:]) {
      samples, file in
      guard file.hasPrefix(prefix), file.hasSuffix(".json"),
        let version = Int(file.dropFirst(prefix.count).dropLast(5))
      else { return }
      samples[version] = file
    }
  }

  // MARK: Comparing

  private func decodingProblem<M: RelayedMessage>(
    _ type: M.Type, _ bytes: [UInt8], _ version: Int
  ) -> String? {
    do {
      _ = try M(relayPayload: bytes, version: version)
      return nil
    } catch {
      return "\(error)"
    }
  }

  /// A description of the change, if there is one and both are JSON.
  private static func change(from old: [UInt8], to new: [UInt8]) -> String? {
    guard let old = try? JSON.decode(JSONShape.self, from: old).fields,
      let new = try? JSON.decode(JSONShape.self, from: new).fields
    else { return nil }
    let parts = [
      ("missing", old.subtracting(new)), ("new", new.subtracting(old)),
    ].compactMap { word, fields in
      fields.isEmpty ? nil : "\(word) \(fields.sorted().joined(separator: ", "))"
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }
}

/// The fields that a JSON value has, at each depth, with what each is.
private struct JSONShape: Decodable {
  let fields: Set<String>

  init(from decoder: any Decoder) throws {
    let value = try decoder.singleValueContainer()
    if value.decodeNil() {
      fields = [" (null)"]
    } else if (try? value.decode(Bool.self)) != nil {
      fields = [" (a truth value)"]
    } else if (try? value.decode(Double.self)) != nil {
      fields = [" (a number)"]
    } else if (try? value.decode(String.self)) != nil {
      fields = [" (text)"]
    } else if let elements = try? value.decode([JSONShape].self) {
      fields = elements.reduce(into: [" (an array)"]) { fields, element in
        fields.formUnion(element.fields.map { "[]" + $0 })
      }
    } else {
      let members = try value.decode([String: JSONShape].self)
      fields = members.reduce(into: [" (an object)"]) { fields, member in
        fields.formUnion(member.value.fields.map { ".\(member.key)" + $0 })
      }
    }
  }
}
