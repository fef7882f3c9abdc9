import Campanile

/// Posts in their order, with the bytes of their payloads in one array.
///
/// A post is two numbers, so that many posts cost little more than their bytes.
package struct RelayPosts: Sendable {
  /// The heading that posts in a row share.
  package struct Heading: Equatable, Sendable {
    /// The name under which they are sent.
    package var subject: String
    /// The sender's version of the type.
    package var version: UInt32
    /// Where they have been.
    package var path: [UInt64]

    package init(subject: String, version: UInt32, path: [UInt64] = []) {
      (self.subject, self.version, self.path) = (subject, version, path)
    }
  }

  private struct Post: Sendable {
    let heading: UInt32
    /// The bytes of the payload.
    let length: UInt32
  }

  package private(set) var headings: [Heading] = []
  /// The payloads, one after another.
  package private(set) var bytes: [UInt8] = []
  private var posts: [Post] = []
  /// The first post that has not been taken, and where its payload begins.
  private var (first, start) = (0, 0)

  package init() {}

  /// Posts of one heading, of which the first one has these bytes.
  init(_ heading: Heading, sharing bytes: [UInt8]) {
    headings = [heading]
    self.bytes = bytes
    posts = [Post(heading: 0, length: UInt32(bytes.count))]
  }

  package var count: Int { posts.count - first }
  package var isEmpty: Bool { posts.count == first }
  /// The bytes of the payloads that have not been taken.
  package var byteCount: Int { bytes.count - start }

  /// Whether it has so much memory, also of posts that have been taken, that others follow.
  var isFull: Bool { bytes.count >= 56 << 10 || posts.count >= 512 }

  package mutating func append(_ heading: Heading, _ payload: some Collection<UInt8>) {
    if headings.last != heading { headings.append(heading) }
    append(payload)
  }

  /// Adds a post with the heading of the last one.
  @inline(__always)
  fileprivate mutating func append(_ payload: some Collection<UInt8>) {
    bytes += payload
    posts.append(Post(heading: UInt32(headings.count - 1), length: UInt32(payload.count)))
  }

  /// Adds a post of bytes that nothing has been done to.
  ///
  /// - Precondition: The subject is the name of a message.
  @inline(__always)
  mutating func append(raw payload: [UInt8], to subject: String, version: UInt32) {
    if let last = headings.last, last.subject == subject, last.version == version {
    } else {
      begin(subject, version)
    }
    append(payload)
  }

  @inline(never)
  private mutating func begin(_ subject: String, _ version: UInt32) {
    headings.append(Heading(raw: subject, version))
  }

  /// Prepares for as many posts as there were in others.
  mutating func reserve(asIn others: RelayPosts) {
    bytes.reserveCapacity(others.bytes.count)
    posts.reserveCapacity(others.posts.count)
  }

  /// Takes the first post: the place of its heading, and where its payload is among the bytes.
  @inline(__always)
  package mutating func popFirst() -> (heading: Int, payload: Range<Int>)? {
    if isEmpty { return nil }
    let post = posts[first]
    let end = start + Int(post.length)
    defer { (first, start) = (first + 1, end) }
    return (Int(post.heading), start..<end)
  }
}

extension RelayPosts.Heading {
  /// - Precondition: The subject is the name of a message.
  init(raw subject: String, _ version: UInt32) {
    require(
      SubjectName.isName(subject),
      "Bytes were posted to \"\(subject)\"; a name has tokens with dots between them, without "
        + "spaces and without the signs * and >")
    self.init(subject: subject, version: version)
  }
}
