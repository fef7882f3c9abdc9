import Campanile

/// Takes changes that other threads make on main-actor key paths to the main actor.
enum MainHop {
  private static let posts: SourceList<OwnerReference<Evaluation>> = {
    let posts = SourceList(of: OwnerReference<Evaluation>.self)
    _ = posts.addConfined(on: MainDelivery.main.ordered.delivery, file: #fileID, line: #line) {
      $0.object?.makeNewestCall()
    }
    return posts
  }()

  static func post(_ evaluation: Evaluation) { posts.post(OwnerReference(evaluation)) }
}
