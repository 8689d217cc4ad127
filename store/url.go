package store

import (
	"errors"
	"fmt"
	"strings"

	"countersign/store/pgstore"
)

// Place says where a store is. It holds no secret, so it may be shown.
type Place struct {
	// File is the path of the store's file; empty: it is in a database.
	File string
	// Database names the database; empty: it is in a file.
	Database string
}

// String names the place for logs and messages.
func (p Place) String() string { return p.File + p.Database }

// Shared reports whether several processes can work on the store at once.
func (p Place) Shared() bool { return p.File == "" }

// PlaceOf reads a URL without opening the store. Its errors are those of Open for an unusable URL.
func PlaceOf(url string) (Place, error) {
	scheme, rest, ok := strings.Cut(url, ":")
	switch {
	case url == "":
		return Place{}, fmt.Errorf("%w: it is empty: %s", ErrURL, forms)
	case !ok:
		return Place{}, fmt.Errorf("%w: it has no scheme: %s", ErrURL, forms)
	case isPostgres(url):
		at, err := pgstore.PlaceOf(url)
		if err != nil {
			return Place{}, postgresError(err)
		}
		return Place{Database: at.String()}, nil
	case !strings.EqualFold(scheme, "bolt"):
		return Place{}, fmt.Errorf("%w: unknown scheme: %s", ErrURL, forms)
	case rest == "":
		return Place{}, fmt.Errorf("%w: no path behind bolt: %s", ErrURL, forms)
	case strings.HasPrefix(rest, "//"):
		return Place{}, fmt.Errorf("%w: bolt takes a path, not //: %s", ErrURL, forms)
	case rest == "~" || strings.HasPrefix(rest, "~/"):
		return Place{}, fmt.Errorf("%w: nothing stands for ~ here: write the path of the home folder out, or bolt:./~ "+
			"for a folder of that name", ErrURL)
	}
	return Place{File: rest}, nil
}

// ErrRefused is returned by Open when the server of a database has answered that it lets nobody in with the URL: the
// password is wrong, for instance, or the database does not exist. Where the URL names several servers, all have.
var ErrRefused = errors.New("the database server refuses")
