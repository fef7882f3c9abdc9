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

  package var count: Int { posts.count - first }
  package var isEmpty: Bool { posts.count == first }
  /// The bytes of the payloads that have not been taken.
  package var byteCount: Int { bytes.count - start }

  package mutating func append(_ heading: Heading, _ payload: some Collection<UInt8>) {
    if headings.last != heading { headings.append(heading) }
    bytes += payload
    posts.append(Post(heading: UInt32(headings.count - 1), length: UInt32(payload.count)))
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
